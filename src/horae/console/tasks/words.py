"""Labels, help and names of choices of a task's fields, in the language of the viewer."""

from __future__ import annotations

from ...choices import Language
from ...wire.shapes.notation import Schema
from ..messages.edit_fields import CHOICES, HELP, LABELS
from ..shape_form import FieldWords


class TaskWords(FieldWords):
    """A field without words of its own is shown by its name, with the description of its shape."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def label(self, name: str) -> str:
        message = LABELS.get(name)
        return super().label(name) if message is None else message.in_language(self._language)

    def help(self, name: str, schema: Schema) -> str:
        message = HELP.get(name)
        return super().help(name, schema) if message is None else message.in_language(self._language).replace("`", "")

    def choice(self, name: str, value: str) -> str:
        message = CHOICES.get(f"{name}.{value}", CHOICES.get(value))
        return value if message is None else message.in_language(self._language)
