"""Value categories ([basic.lval]), and which references bind to an expression of which category ([dcl.init.ref])."""

from __future__ import annotations

from smem_lsp.semantics.types import Type, qualified
from smem_lsp.semantics.value_categories import Category
from smem_lsp.source import record


@record
class Given:
    """What is known of an expression that is handed on. ``type``: without references and qualifiers; ``constant``: is
    it ``const``? ``volatile``: is it, as far as is known? ``null``: it is the literal 0, which is a null pointer, too.
    None: not known."""

    type: Type | None = None
    category: Category | None = None
    constant: bool | None = None
    volatile: bool = False
    null: bool = False

    @property
    def qualified(self) -> Type | None:
        """Its type with its qualifiers, as far as they are known."""
        return qualified(self.type, constant=self.constant is True, volatile=self.volatile)


@record
class Binding:
    """How a parameter takes an expression of its own type. ``reference``: "&", "&&" or "" for a value; ``constant`` and
    ``volatile``: it refers to what is; ``free``: ``T&&`` of a template parameter, which takes all categories;
    ``any_category``: of the object of a member function without ``&`` and ``&&`` ([over.match.funcs.general]/5)."""

    reference: str = ""
    constant: bool = False
    free: bool = False
    any_category: bool = False
    volatile: bool = False


def may_bind(given: Given, binding: Binding, *, same: bool) -> bool:
    """May a parameter be bound to an expression? ``same``: is it of the type that is referred to, or of a class that is
    derived from it? If not, it is bound to an object that is made for it ([dcl.init.ref]/5.4)."""
    if not binding.reference or binding.free:
        return True
    if same and given.volatile and not (binding.volatile or binding.any_category):
        return False
    rvalue = not same or given.category in (Category.XVALUE, Category.PRVALUE)
    if binding.any_category:
        return binding.constant or not given.constant
    if same and given.constant and not binding.constant:
        return False
    if binding.reference == "&&":
        return rvalue or given.category is None
    if binding.constant:
        return True
    return not rvalue


def preferred(given: Given, one: Binding, other: Binding) -> int | None:
    """Which of two parameters takes an expression of their type better, both being viable ([over.ics.rank]/3.2)? -1:
    the first; 1: the other; 0: neither; None: not known."""
    if one == other or not one.reference or not other.reference:
        return 0
    of_object = one.any_category or other.any_category
    if one.free or other.free or (given.category is None and not of_object):
        return None
    if one.reference != other.reference and not of_object:  # [over.ics.rank]/3.2.3
        if given.category is Category.LVALUE:
            return None  # only one of them binds
        return -1 if one.reference == "&&" else 1
    if one.volatile != other.volatile:  # [over.ics.rank]/3.2.6
        return None if one.constant != other.constant else 1 if one.volatile else -1
    if one.constant == other.constant:
        return 0
    if given.constant is None:
        return None
    return -1 if other.constant else 1
