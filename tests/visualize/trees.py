"""Pictures as trees of XML: what is not well-formed does not parse."""

from xml.etree import ElementTree


def parsed(picture):
    """The drawing and the HTML of a picture."""
    return ElementTree.fromstring(picture.svg), ElementTree.fromstring(picture.html)


def words(tree):
    """All text of a tree, with hints and labels."""
    attributes = [value for element in tree.iter() for value in element.attrib.values()]
    return "\n".join([*tree.itertext(), *attributes])


def elements(tree, name):
    """The elements with a name, of any namespace."""
    return [element for element in tree.iter() if element.tag.rsplit("}", 1)[-1] == name]
