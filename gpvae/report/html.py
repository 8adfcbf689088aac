"""HTML as nested calls. What is text is escaped; what is markup already says so by its type."""

import html
import re

VOID = frozenset({"meta", "img", "br", "hr"})
#: Elements that end a line of the file, so that people can read it too.
ON_THEIR_OWN = frozenset({"meta", "tr", "p", "li", "section", "figure", "table", "div", "details", "style", "title"})
#: What HTML gives no meaning to: control characters, and halves of characters that names of files may hold.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


Attribute = str | int | bool | None


def escaped(text: object) -> Markup:
    """Text as HTML shows it.

    Args:
        text: Anything; markup stays as it is.
    """
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_UNPRINTABLE.sub("\ufffd", str(text)), quote=True))


def element(tag: str, *children: object, **attributes: Attribute) -> Markup:
    """An element.

    Args:
        tag: Its name.
        children: What is in it, text or markup.
        attributes: By name, where `_` stands for `-` and ends the names that Python keeps for itself, as in `class_`.
            None and False leave an attribute out, True gives it no value.
    """
    words = [tag]
    for key, value in attributes.items():
        name = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(name)
        elif value is not None and value is not False:
            words.append(f'{name}="{escaped(value)}"')
    start = f"<{' '.join(words)}>"
    end = "" if tag in VOID else f"{joined(*children)}</{tag}>"
    return Markup(start + end + ("\n" if tag in ON_THEIR_OWN else ""))


def joined(*parts: object) -> Markup:
    """Parts one after the other.

    Args:
        parts: Text or markup.
    """
    return Markup("".join(map(escaped, parts)))
