"""The pictures of the book as SVG, one function per chapter; docs/ext/book.py writes them.

Each function draws boxes, lines and texts with integer coordinates, so that a picture changes only
with this file or with the code of the chapter that it shows.
"""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.append(str(Path(__file__).resolve().parent / "code"))

BLUE, GREEN, ORANGE, GREY, WHITE = "#cfe2f3", "#d9ead3", "#fce5cd", "#eeeeee", "#ffffff"
INK = "#333333"


class Picture:
    """A list of SVG elements in the order in which they are painted."""

    def __init__(self, width, height):
        self.size = width, height
        self.parts = []

    def box(self, x, y, w, h, text="", fill=BLUE, dashed=False):
        style = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="4" fill="{fill}" '
                          f'stroke="{INK}"{style}/>')
        lines = text.split("\n") if text else []
        for k, line in enumerate(lines):
            self.text(x + w // 2, y + h // 2 + 5 + 16 * k - 8 * (len(lines) - 1), line)

    def text(self, x, y, text, anchor="middle", size=13):
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}">'
                          f"{escape(text)}</text>")

    def arrow(self, *points, dashed=False):
        path = " ".join(f"{x},{y}" for x, y in points)
        style = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{INK}" '
                          f'marker-end="url(#tip)"{style}/>')

    def line(self, x1, y1, x2, y2, dashed=False):
        style = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{INK}"{style}/>')

    def svg(self):
        width, height = self.size
        tip = ('<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
               f'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker>'
               "</defs>")
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" font-family="sans-serif" fill="{INK}">\n'
                f'{tip}\n<rect width="{width}" height="{height}" fill="{WHITE}"/>\n'
                f"{body}\n</svg>\n")


def ch01_tensors():
    p = Picture(640, 210)
    p.box(20, 85, 90, 40, "add(a, b)", GREY)
    p.box(160, 85, 110, 40, "apply", BLUE)
    p.arrow((110, 105), (160, 105))
    p.box(150, 10, 130, 40, "op table: OPS", GREEN)
    p.arrow((215, 50), (215, 85))
    p.text(222, 72, "record of add", "start", 12)
    p.box(340, 85, 120, 40, "Operation", ORANGE)
    p.arrow((270, 105), (340, 105))
    p.box(510, 140, 110, 30, "Execution", BLUE)
    p.box(510, 100, 110, 30, "GradientTape", WHITE, dashed=True)
    p.box(510, 60, 110, 30, "Graph", WHITE, dashed=True)
    p.text(565, 48, "interpreters", size=12)
    p.arrow((460, 105), (485, 105), (485, 155), (510, 155))
    p.text(565, 190, "runs the kernel", size=12)
    p.text(120, 190, "dashed: interpreters of chapter 2, on the stack if in use", "start", 12)
    return p


def ch02_tape():
    """The graph of y = a * b / (a + b), and the cotangents of the backward pass."""
    p = Picture(640, 330)
    boxes = {"a": (60, 250), "b": (260, 250), "a * b": (60, 140), "a + b": (260, 140),
             "y": (160, 30)}
    for name, (x, y) in boxes.items():
        p.box(x, y, 90, 36, name, GREY if name in "ab" else BLUE)
    for begin, end in [((105, 250), (105, 176)), ((125, 250), (285, 176)),
                       ((290, 250), (130, 176)), ((305, 250), (305, 176)),
                       ((105, 140), (185, 66)), ((305, 140), (225, 66))]:
        p.arrow(begin, end)
    p.text(205, 318, "forward: from the bottom to the top", size=12)
    p.text(500, 22, "cotangents, in the order of the backward pass", size=11)
    rows = [("y", "1"), ("a * b", "1 / (a + b) = 0.05"), ("a + b", "-y / (a + b) = -0.1875"),
            ("a", "0.05 b - 0.1875 = 0.0625"), ("b", "0.05 a - 0.1875 = 0.5625")]
    for k, (name, value) in enumerate(rows):
        p.box(375, 36 + 50 * k, 60, 36, name, GREY if name in "ab" else BLUE)
        p.box(435, 36 + 50 * k, 190, 36, value, ORANGE)
    p.text(500, 305, "a and b are read twice: two terms", size=12)
    return p


def ch03_training():
    p = Picture(640, 220)
    p.box(20, 30, 110, 40, "images, labels", GREY)
    p.box(20, 130, 110, 40, "parameters", GREY)
    p.box(180, 30, 110, 40, "forward pass", BLUE)
    p.arrow((130, 50), (180, 50))
    p.arrow((130, 140), (155, 140), (155, 60), (180, 60))
    p.box(350, 30, 90, 40, "loss", ORANGE)
    p.arrow((290, 50), (350, 50))
    p.box(180, 130, 110, 40, "tape", GREEN)
    p.arrow((235, 70), (235, 130))
    p.text(243, 104, "records", "start", 12)
    p.box(350, 130, 110, 40, "backward pass", BLUE)
    p.arrow((290, 150), (350, 150))
    p.arrow((395, 70), (395, 130))
    p.box(520, 130, 100, 40, "p - rate * g", BLUE)
    p.arrow((460, 150), (520, 150))
    p.text(490, 143, "g", size=12)
    p.arrow((570, 170), (570, 205), (75, 205), (75, 170))
    p.text(320, 199, "new parameters: the arguments of the next step", size=12)
    return p


def ch04_tracing():
    p = Picture(640, 150)
    p.box(20, 20, 90, 40, "call", GREY)
    p.box(150, 20, 130, 40, "key: shapes,\nvalues, state", BLUE)
    p.arrow((110, 40), (150, 40))
    p.box(490, 20, 120, 40, "run the program", GREEN)
    p.arrow((280, 40), (490, 40))
    p.text(385, 34, "key is known", size=12)
    p.box(20, 95, 110, 36, "Python function", GREY)
    p.arrow((130, 113), (180, 113), dashed=True)
    p.box(180, 95, 70, 36, "trace", ORANGE)
    p.arrow((215, 60), (215, 95))
    p.text(225, 82, "key is new", "start", 12)
    p.box(300, 95, 70, 36, "passes", WHITE, dashed=True)
    p.box(420, 95, 70, 36, "build", ORANGE)
    p.arrow((250, 113), (300, 113))
    p.arrow((370, 113), (420, 113))
    p.arrow((490, 113), (550, 113), (550, 60))
    p.text(335, 145, "chapters 5 and 6", size=11)
    p.text(75, 145, "runs during the trace only", size=11)
    return p


def ch05_passes():
    p = Picture(640, 260)
    p.text(215, 22, "three kernels")
    p.text(520, 22, "one cluster")
    p.text(10, 78, "memory", "start", 12)
    p.text(10, 204, "processor", "start", 12)
    for k, (name, reads, result) in enumerate([("multiply", "x w", "t"), ("add", "t b", "u"),
                                               ("relu", "u", "y")]):
        x = 80 + 100 * k
        p.box(x, 180, 88, 36, name, BLUE)
        for i, operand in enumerate(reads.split()):
            p.box(x + 30 * i, 60, 26, 26, operand, GREY if operand in "xwb" else ORANGE)
            p.arrow((x + 13 + 30 * i, 86), (x + 13 + 30 * i, 180))
        p.box(x + 62, 60, 26, 26, result, ORANGE if result != "y" else GREEN)
        p.arrow((x + 75, 180), (x + 75, 86))
    p.box(430, 160, 190, 56, "multiply, add, relu\non a tile in L1", BLUE)
    for i, operand in enumerate("xwb"):
        p.box(440 + 45 * i, 60, 34, 26, operand, GREY)
        p.arrow((457 + 45 * i, 86), (457 + 45 * i, 160))
    p.box(580, 60, 34, 26, "y", GREEN)
    p.arrow((597, 160), (597, 86))
    p.text(215, 244, "8 transfers; t and u go through memory", size=12)
    p.text(520, 244, "4 transfers", size=12)
    return p


def ch06_memory():
    """The plan of the training step, computed by the code of the chapter."""
    from ch03_training import step, step_arguments
    from ch04_tracing import trace
    from ch05_passes import optimize
    from ch06_memory import plan

    graph = optimize(trace(step, step_arguments()))
    found, size = plan(graph)
    names = {}
    for value, buffer in found.items():
        names.setdefault(buffer, value.operation.op.name)
    begin = min(buffer.start for buffer in names)
    width, height, left, low = 530, 250, 70, 280
    x_of = lambda time: left + (time - begin) * width // (len(graph.operations) + 1 - begin)  # noqa: E731
    p = Picture(640, 320)
    fills = {"matmul": BLUE, "cluster": ORANGE, "reduce_sum": GREEN}
    for buffer, name in names.items():
        x, w = x_of(buffer.start), x_of(buffer.end + 1) - x_of(buffer.start)
        h = max(buffer.size * height // size, 2)
        y = low - buffer.offset * height // size - h
        p.box(x, y, w, h, name if w > 60 and h > 14 else "", fills.get(name, GREY))
    full = max({b.start for b in names}, key=lambda time: sum(
        b.size for b in names if b.start <= time <= b.end))
    x = (x_of(full) + x_of(full + 1)) // 2
    p.line(x, low - height, x, low + 6, dashed=True)
    p.text(x, 305, "here the arena is full", size=12)
    p.line(left, low, left + width + 20, low)
    p.line(left, low, left, low - height - 10)
    p.text(left, 305, "time: the operations in order", "start", 12)
    p.text(60, low - height + 4, str(size), "end", 12)
    p.text(60, low, "0", "end", 12)
    p.text(left, 16, "offset in the arena, in elements", "start", 12)
    return p


def ch07_executor():
    p = Picture(640, 280)
    p.text(20, 20, "code: words of two instructions", "start", 12)
    words = ["8", "MATMUL", "4", "4", "8", "2", "0", "1", "6", "ADD", "32", "3", "2", "2"]
    for k, word in enumerate(words):
        w, x = (66 if word == "MATMUL" else 40), 20 + 42 * k + (26 if k > 1 else 0)
        p.box(x, 30, w, 30, word, (BLUE if word.isalpha() else ORANGE if k in (5, 6, 7, 11, 12, 13)
                                   else GREY))
    p.text(500, 160, "slots: pointers", "start", 12)
    p.text(20, 90, "indices of slots", "start", 12)
    for k in range(4):
        p.box(40 + 130 * k, 140, 50, 30, str(k), ORANGE)
    for x, slot in ((273, 2), (315, 0), (357, 1), (525, 3)):
        p.arrow((x, 60), (65 + 130 * slot, 140))
    boxes = [(20, 90, "argument 0", GREY), (150, 90, "argument 1", GREY),
             (270, 340, "arena", GREEN)]
    for x, w, name, fill in boxes:
        p.box(x, 220, w, 40, name, fill)
    for slot, x in ((0, 65), (1, 195), (2, 300), (3, 480)):
        p.arrow((65 + 130 * slot, 170), (x, 220))
    return p


def ch08_kernels():
    p = Picture(640, 250)
    p.text(20, 22, "array: borders of blocks depend on its size alone", "start", 12)
    owners = [0, 1, 1, 0, 1, 0]
    for k, owner in enumerate(owners):
        x = 20 + 100 * k
        p.box(x, 32, 100, 34, f"block {k}", BLUE if owner else ORANGE)
        p.arrow((x + 50, 66), (x + 50, 130))
        p.text(x + 56, 102, f"thread {owner}", "start", 11)
        p.box(x + 30, 130, 40, 30, f"s{k}", BLUE if owner else ORANGE)
        if k:
            p.text(x, 150, "+")
    p.text(20, 182, "partial sums", "start", 12)
    p.arrow((30, 195), (610, 195))
    p.text(320, 214, "added in the order of the blocks, after all of them are done", size=12)
    p.text(320, 238, "another run: other threads, the same blocks, the same bits", size=12)
    return p


def ch09_matmul():
    p = Picture(640, 330)
    p.box(40, 110, 180, 180, "", GREY)
    p.text(130, 308, "A: m x k", size=12)
    p.box(40, 150, 180, 80, "", BLUE)
    p.text(50, 222, "block of 96 rows: L2", "start", 11)
    p.box(40, 165, 180, 22, "panel of 6 rows", ORANGE)
    p.box(300, 10, 300, 90, "", GREY)
    p.text(590, 90, "B: k x n", "end", 12)
    p.box(390, 10, 34, 90, "", ORANGE)
    p.text(430, 30, "panel of 16 columns: L1", "start", 11)
    p.box(300, 110, 300, 180, "", GREY)
    p.text(450, 308, "C: m x n", size=12)
    p.box(390, 165, 34, 22, "", GREEN)
    p.text(432, 181, "6 x 16 sums in 12 registers", "start", 11)
    p.arrow((220, 176), (390, 176))
    p.arrow((407, 100), (407, 165))
    p.text(320, 326, "the microkernel computes one green block for 256 terms", size=11)
    return p


def ch10_control_flow():
    p = Picture(660, 270)
    p.text(10, 58, "loop", "start", 12)
    p.text(10, 218, "transpose", "start", 12)
    for k in range(3):
        x = 150 + 150 * k
        p.box(x, 35, 90, 40, f"iteration {k}", BLUE)
        p.box(x, 195, 90, 40, f"iteration {k}", ORANGE)
        p.box(x + 10, 115, 70, 30, f"row {k}", GREEN)
        p.arrow((x + 45, 75), (x + 45, 115))
        p.arrow((x + 45, 145), (x + 45, 195))
        p.arrow((x - 60, 55), (x, 55))
        p.arrow((x + (150 if k < 2 else 200), 215), (x + 90, 215))
    p.arrow((540, 55), (650, 55))
    p.arrow((150, 215), (90, 215))
    p.text(115, 45, "carry", size=12)
    p.text(597, 205, "cotangent", size=12)
    p.text(10, 135, "residuals: the carries", "start", 11)
    p.text(330, 262, "iteration 2 is the first one of the transpose", size=12)
    return p


def ch11_vmap():
    p = Picture(640, 250)
    rows = [("parameter x", "(3,)", "x", "(B, 3)"),
            ("reshape", "(1, 3)", "rule of reshape", "(B, 1, 3)"),
            ("matmul with w", "(1, 4)", "rule of matmul: one product", "(B, 1, 4)"),
            ("reduce_sum", "()", "rule of reduce_sum: axis + 1", "(B,)")]
    p.text(110, 22, "trace for one example")
    p.text(460, 22, "applied to a batch of B examples")
    for k, (op, shape, rule, batched) in enumerate(rows):
        y = 36 + 52 * k
        p.box(30, y, 160, 34, op, BLUE if k else GREY)
        p.text(200, y + 22, shape, "start", 12)
        p.box(330, y, 230, 34, rule, ORANGE if k else GREY)
        p.text(570, y + 22, batched, "start", 12)
        p.arrow((250, y + 17), (330, y + 17), dashed=True)
        if k:
            p.arrow((110, y - 18), (110, y))
            p.arrow((445, y - 18), (445, y))
    p.text(320, 245, "w is unbatched: the same for all examples", size=12)
    return p


def ch12_compiled_backward():
    p = Picture(640, 230)
    p.box(20, 80, 130, 60, "tape: records\nand tensors", GREY)
    p.box(210, 30, 130, 40, "signature", BLUE)
    p.box(210, 150, 130, 40, "residuals", GREEN)
    p.arrow((150, 100), (180, 100), (180, 50), (210, 50))
    p.arrow((150, 120), (180, 120), (180, 170), (210, 170))
    p.box(400, 30, 90, 40, "cache", ORANGE)
    p.arrow((340, 50), (400, 50))
    p.box(400, 150, 90, 40, "program", ORANGE)
    p.arrow((445, 70), (445, 150))
    p.text(452, 114, "known", "start", 12)
    p.arrow((340, 170), (400, 170))
    p.box(540, 150, 85, 40, "gradients", GREY)
    p.arrow((490, 170), (540, 170))
    p.box(540, 30, 85, 40, "rules", BLUE)
    p.arrow((490, 50), (540, 50))
    p.text(515, 42, "new", size=12)
    p.arrow((582, 70), (582, 150))
    p.text(320, 222, "ops, connections and shapes select the program; elements are its arguments",
           size=12)
    return p


def ch13_export():
    p = Picture(640, 240)
    p.box(20, 95, 100, 44, "program", GREEN)
    p.box(190, 30, 140, 44, "arrays in memory", ORANGE)
    p.box(190, 160, 140, 44, "tables in step.c", ORANGE)
    p.arrow((120, 108), (155, 108), (155, 52), (190, 52))
    p.arrow((120, 126), (155, 126), (155, 182), (190, 182))
    p.box(400, 30, 110, 44, "executor.c", BLUE)
    p.box(400, 160, 110, 44, "executor.c", BLUE)
    p.arrow((330, 52), (400, 52))
    p.arrow((330, 182), (400, 182))
    p.line(455, 74, 455, 160, dashed=True)
    p.text(462, 121, "the same text", "start", 12)
    p.text(530, 57, "in Python", "start", 12)
    p.text(530, 187, "without Python", "start", 12)
    p.text(260, 20, "ctypes", size=12)
    p.text(260, 226, "written by export", size=12)
    return p


def ch14_all_reduce():
    p = Picture(640, 300)
    p.text(10, 212, "micro-batches", "start", 11)
    level, y, width = [100 + 66 * k for k in range(8)], 220, 34
    fills = [BLUE] * 4 + [ORANGE] * 4
    for k, x in enumerate(level):
        p.box(x - width // 2, y, width, 26, f"g{k}", fills[k])
    while len(level) > 1:
        above = []
        for k in range(0, len(level), 2):
            x = (level[k] + level[k + 1]) // 2
            p.line(level[k], y, x, y - 34)
            p.line(level[k + 1], y, x, y - 34)
            fill = GREEN if len(level) == 2 else BLUE if k < len(level) // 2 else ORANGE
            p.box(x - width // 2, y - 60, width, 26, "+", fill)
            above.append(x)
        level, y = above, y - 60
    p.text(199, 272, "rank 0 of 2", size=12)
    p.text(463, 272, "rank 1 of 2", size=12)
    p.text(360, 50, "each rank computes this node", "start", 11)
    p.text(360, 66, "from the nodes that it receives", "start", 11)
    p.text(330, 292, "with four ranks, each has a subtree of two leaves; the sums are the same",
           size=11)
    return p


DRAWINGS = [ch01_tensors, ch02_tape, ch03_training, ch04_tracing, ch05_passes, ch06_memory,
            ch07_executor, ch08_kernels, ch09_matmul,
            ch10_control_flow, ch11_vmap,
            ch12_compiled_backward, ch13_export, ch14_all_reduce]


def draw_all():
    return {f"{draw.__name__}.svg": draw().svg() for draw in DRAWINGS}
