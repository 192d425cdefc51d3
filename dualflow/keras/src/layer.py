"""The backend's base class of Keras layers; it adds nothing."""


class Layer:
    """Base class of Keras's layers."""


OpenvinoLayer = Layer           # the name that Keras imports
