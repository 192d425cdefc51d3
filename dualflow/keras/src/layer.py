"""What layers of Keras have on dualflow beyond Keras's own: nothing so far."""


class Layer:
    """A base of Keras's layers."""


OpenvinoLayer = Layer           # the name that Keras asks for
