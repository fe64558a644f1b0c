"""Pages and fragments of HTML, read by Python's own parser."""

from html.parser import HTMLParser

VOID = {"meta", "input", "link"}


class Page(HTMLParser):
    """The elements of a page in their order, checked to be well nested.

    An element is a dictionary: its ``tag``, its attributes ``at``, its ``text`` with that of all
    elements in it, and the elements that it stands ``in``.
    """

    def __init__(self, text):
        super().__init__()
        self.stack, self.elements = [], []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "at": dict(attributes), "text": "", "in": list(self.stack)}
        self.elements.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.stack:
            element["text"] += data

    def all(self, tag, inside=None, **at):
        """The elements of a tag, within another one, with these attributes."""
        return [
            e
            for e in self.elements
            if e["tag"] == tag
            and (inside is None or any(i is inside for i in e["in"]))
            and at.items() <= e["at"].items()
        ]

    def texts(self, tag, inside=None, **at):
        """What stands in these elements."""
        return [element["text"] for element in self.all(tag, inside, **at)]
