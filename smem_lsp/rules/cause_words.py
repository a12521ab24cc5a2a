"""What lowering and the ranges of shared memory left open, in words, and why a buffer keeps its bytes."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Kernel
from smem_lsp.rules.words import Words, listed_words, said


def cause(of: Cause) -> Words:
    """``line 5: what f reaches is not followed``, ``goto at line 5``."""
    return _said(of, placed=True)


def bare(of: Cause) -> str:
    """The same without its line: ``what f reaches is not followed``, ``goto``."""
    return str(_said(of, placed=False))


def causes(found: Iterable[Cause]) -> list[Words]:
    """``cause`` of each; what is said in the same words is said once."""
    return list(dict.fromkeys(map(cause, found)))


def told(kernel: Kernel, of: Cause) -> str:
    """``cause`` as text, with the line of the file that ``kernel`` stands in."""
    return str(cause(of).placed(kernel))


def told_causes(kernel: Kernel, found: Iterable[Cause]) -> list[str]:
    """The same of several; what is said in the same words is said once."""
    return list(dict.fromkeys(told(kernel, each) for each in found))


def on_line(kernel: Kernel, of: Cause) -> str:
    """``line 5: nothing bounds n``."""
    return bare(of) if of.line is None else f"line {kernel.places.line(of.line)}: {bare(of)}"


def _said(of: Cause, *, placed: bool) -> Words:
    line = of.line if placed else None
    parts = [_said(each, placed=line is not None) for each in of.of]
    if of.kind is CauseKind.EXTENT:
        first, *unbounded = parts
        why = said(": nothing bounds ", listed_words(unbounded)) if unbounded else ""
        return said("how far ", first, " reaches is not known", why)
    fields: dict[str, str | Words] = {
        "of": parts[0] if parts else "",
        "all": ", ".join(f"`{name}`" for name in of.names),
        "place": "it" if line is None else said("line ", line),
        "before": "" if line is None else said("line ", line, ": "),
        "at": "" if line is None else said(" at line ", line),
        "here": "" if line is None else said(" (line ", line, ")"),
    }
    found: list[str | Words] = []
    for text, field, _, _ in Formatter().parse(_WORDS[of.kind]):
        found.append(text)
        if field is not None:
            found.append(of.names[int(field)] if field.isdigit() else fields[field])
    return said(*found)


_WORDS = {
    CauseKind.UNREAD_STATEMENT: "the statement{at} was not understood",
    CauseKind.UNREAD_STATEMENT_OF: "a statement of `{0}` was not understood",
    CauseKind.UNREAD_DECLARATION: "the declaration{at} was not understood",
    CauseKind.UNREAD_ASSEMBLER: "assembler{at} was not understood",
    CauseKind.UNREAD_LAMBDA: "the lambda that is called{at} was not understood",
    CauseKind.UNREAD_EXPRESSION: "the {of}{at} was not understood",
    CauseKind.UNREAD_BRACKETS: "the brackets of `{0}` do not match",
    CauseKind.UNREAD_PARAMETERS: "the parameters of `{0}` were not understood",
    CauseKind.UNREAD_MACRO: "a macro that `{0}` names is not known to its end",
    CauseKind.ASSEMBLER_JUMPS: "inline assembler{at}",
    CauseKind.BARRIER_AGAIN: "a barrier that is made again{at}",
    CauseKind.LABEL: "label {0}{at}",
    CauseKind.NESTED_CASE: "a case label inside another statement{at}",
    CauseKind.TRY: "try block{at}",
    CauseKind.UNREAD_JUMP: "{place} is not understood",
    CauseKind.TWO_READINGS: "{place} can be read in two ways",
    CauseKind.UNREAD_LOOP: "the loop{at} is not understood",
    CauseKind.CONTINUE: "`continue` in the loop{at}",
    CauseKind.GOTO: "goto{at}",
    CauseKind.GOTO_LOOP: "a way out of the loop that goto {0} makes{at}",
    CauseKind.BARE_SWITCH: "a switch without braces{at}",
    CauseKind.MACRO_DECLARES: "{0}{at} is not known",
    CauseKind.MACRO_OPENS: "macro {0}{at} is not known",
    CauseKind.POINTER_CIRCLE: "pointers into shared memory are reassigned in a circle",
    CauseKind.INCLUDED: "a file is included{at}",
    CauseKind.BRACKETS: "brackets do not match",
    CauseKind.STRAY_JUMP: "{0} outside of a loop{at}",
    CauseKind.LOOP_DEPTH: "loops are nested more than {0} deep",
    CauseKind.DEPTH: "branches and loops are nested more than {0} deep",
    CauseKind.OTHER_COMPILER: "ptxas does not lay it out",
    CauseKind.MACRO_SIZE: "a macro expands beyond the limits",
    CauseKind.COLLECTIVE_ARRAY: "cub::{0} makes a shared array of its own",
    CauseKind.OVERLOAD: "which {0}() is called is not known",
    CauseKind.HEADER: "a header declares shared memory",
    CauseKind.HEADER_FUNCTION: "{0} of a header declares shared memory",
    CauseKind.UNDECLARED_MEMORY: "{0} is not declared in sight: it may be shared memory",
    CauseKind.OUT_OF_SIGHT: "{0} is not in sight: it may have shared arrays of its own",
    CauseKind.TEMPLATE_ARGUMENTS: "the template arguments of {0} are not known",
    CauseKind.LAMBDA_INSTANCE: "which instance of a lambda of {0} is called is not known",
    CauseKind.OUTSIDE_FUNCTIONS: "{0} is declared outside functions",
    CauseKind.OWN_ARRAYS: "{0} has shared arrays of its own",
    CauseKind.ORDER: "the order of the arrays depends on what is inlined",
    CauseKind.COLLECTIVE_UNUSED: "ptxas drops {0} where the threads of its collective need no shared memory",
    CauseKind.POINTERS_KEPT: "ptxas may keep {0}, which nobody reads, because it may hold pointers",
    CauseKind.NEVER_WRITTEN: "{0} is never written: ptxas may drop it",
    CauseKind.UNSEPARATED: "ptxas may keep {0} in registers: no barrier stands between a write and a read",
    CauseKind.ONE_ELEMENT: "{0} has one element: ptxas may take it apart",
    CauseKind.ONE_VALUE: "{0} only ever gets one value: ptxas may drop it",
    CauseKind.CONSTANT_PLACES: "{0} is only used in constant places: ptxas may split it",
    CauseKind.OWN_ELEMENT: "ptxas may keep {0} in registers: each thread uses one element of its own",
    CauseKind.UNUSED_RESULT: "a value that is read from {0} is not used: ptxas may drop it",
    CauseKind.MEASURED: "ptxas reports {0} B of static shared memory, {1} B were expected",
    CauseKind.NOT_FOLLOWED: "{before}{of} is not followed",
    CauseKind.CLASS_NOT_FOLLOWED: "{before}{of} is not followed",
    CauseKind.REACHES: "{before}what {0} reaches is not followed",
    CauseKind.ESCAPES: "{before}the address of {0} escapes ({of})",
    CauseKind.NAMED: "{before}{of}",
    CauseKind.WHICH_INSTANCE: "which instance of {0} is called is not known",
    CauseKind.WHICH_OVERRIDES: "{before}which function overrides {0}",
    CauseKind.METHOD: "{before}{0}() of an object in shared memory",
    CauseKind.BY_REFERENCE: "{before}{0} is passed to {1} by reference",
    CauseKind.BASE_PLACE: "{before}where {0} lies in {1} is not known",
    CauseKind.BULK_ADDRESS: "{before}cp.async.bulk at an address that is not followed",
    CauseKind.INSTRUCTION_ADDRESS: "{before}{0} at an address that is not followed",
    CauseKind.COPY_ADDRESS: "{before}cp.async to an address that is not followed",
    CauseKind.UNKNOWN_MACRO: "{before}macro {0} is not known",
    CauseKind.MACRO: "macro {0}{here} is not in sight",
    CauseKind.MACRO_TYPE: "macro {0}{here} is not in sight",
    CauseKind.MEMORY_OUT_OF_SIGHT: "{0}{here} is not declared in sight",
    CauseKind.PASSED_OVER: "a call is not followed",
    CauseKind.IS_CONSTANT: "{0} is a constant",
    CauseKind.IS_INTEGER: "{0} is an integer type of 32 bits or more",
    CauseKind.IS_NUMBER: "{0} is a number",
    CauseKind.LEAVES: "{0} leaves {1} as it is",
    CauseKind.TOUCHES_ONLY: "{0}() touches no shared memory but the elements that it is passed",
    CauseKind.UNDECLARED: "{0} reads no shared memory",
    CauseKind.DYNAMIC: "{0} is dynamic shared memory",
    CauseKind.INITIALIZED: "{0} has an initializer",
    CauseKind.OWNED: "{0} belongs to {1}(), which others may call",
    CauseKind.OF_CALLER: "{0} belongs to the caller",
    CauseKind.ADDRESS_KEPT: "an object has the address of {0}",
    CauseKind.BARRIER_MADE: "{0} is a barrier that is made{at}",
    CauseKind.BARRIER_USED: "{0} is a barrier that threads come to{at}",
    CauseKind.MBARRIER: "{0} is used by mbarrier{at}",
    CauseKind.LENT_TO_GROUPS: "{0} is lent to cooperative groups{at}",
    CauseKind.BOUND_TO_COPY: "{0} is what a copy{at} is bound to",
    CauseKind.COPY_IN_FLIGHT: "a copy into {0} may still be in flight{here}",
    CauseKind.BULK_COPY_READS: "a copy out of {0} may still be in flight{here}",
    CauseKind.MATRICES_READ: "{1} may still read {0}{here}",
    CauseKind.USED_BY_INSTRUCTION: "{0} is used by {1}{at}",
    CauseKind.PIPELINE_STATE: "{0} is the state of a pipeline that is made{at}",
    CauseKind.UNKNOWN_TYPE: "{0} is read through an unknown type{at}",
    CauseKind.UNKNOWN_MEMBER: "{0} has a member of an unknown type that is taken for an address",
    CauseKind.CALLED_ON: "{0} is an object whose {1}() is called{at}",
    CauseKind.PASSED: "{0} is passed to {1} by reference{at}",
    CauseKind.BOUND_NAMES: "{0} is bound to other names{at}",
    CauseKind.CONSTRUCTED: "{0} has a constructor",
    CauseKind.NOT_ACCESSED: "{0} is not accessed",
    CauseKind.NAMED_AT: "{0} is {of}{at}",
    CauseKind.ESCAPES_AT: "the address of {0} escapes{at} ({of})",
    CauseKind.NOT_CAPTURED: "is used in a lambda that does not capture it by reference{here}",
    CauseKind.COPIED_BY_LAMBDA: "is used in a lambda that captures by copy{here}",
    CauseKind.CALL: "{0}",
    CauseKind.CALL_OPERATOR: "`{0}(...)`",
    CauseKind.OPERATOR: "`{0}`",
    CauseKind.WHICH_OPERATOR: "which `operator{0}` is called",
    CauseKind.ARRAY_COPY: "the copy of an array of {0}",
    CauseKind.PERHAPS_COPIED: "whether {0} is copied",
    CauseKind.CONVERSION: "the conversion of {0}",
    CauseKind.CONVERTED: "what {0} is converted to",
    CauseKind.CONSTRUCTOR: "what makes {0}",
    CauseKind.DESTRUCTOR: "the destructor of {0}",
    CauseKind.CLASS_COPY: "the copy of {0}",
    CauseKind.ASSIGNMENT: "the assignment of {0}",
    CauseKind.MEMBER_VALUE: "the value of {0} of {1}",
    CauseKind.RETURNS_REFERENCE: "whether {0} returns a reference",
    CauseKind.BEGIN: "`begin()` that a range-based loop calls",
    CauseKind.BEGIN_OF: "`begin()` of {0}",
    CauseKind.TEMPORARY_LIFETIME: "how long the {0} without a name lives",
    CauseKind.TEMPORARY_ARRAY: "what ends an array of {0} without a name",
    CauseKind.BOUND_LIFETIME: "how long what {0} is bound to lives",
    CauseKind.GOTO_ENDS: "what `goto` ends of class {0}",
    CauseKind.LOCAL_CLASS: "a class in a function",
    CauseKind.DEDUCED_CLASS: "the deduced class of {0}",
    CauseKind.RETURNED_LAMBDA: "a lambda that is returned",
    CauseKind.LAMBDA_MEMORY: "a lambda that has shared memory of its own",
    CauseKind.LAMBDA_DEFAULT: "a default argument of a lambda",
    CauseKind.COPY_OF_THIS: "a copy of `*this`",
    CauseKind.COPY_OF_REFERENT: "the copy of what {0} refers to",
    CauseKind.BOUND_PARTS: "what `auto [...]` binds of {0}",
    CauseKind.CHOSEN_PLACE: "which place `?:` chooses",
    CauseKind.CHOSEN_OBJECT: "what `?:` makes of {0}",
    CauseKind.NEW: "what `new` makes",
    CauseKind.DELETE: "what `delete` ends",
    CauseKind.ASSEMBLER_OPERAND: "an operand of inline assembler",
    CauseKind.INSTRUCTION_OPERAND: "an operand of {0}",
    CauseKind.STORED_BY_ASSEMBLER: "stored by inline assembler",
    CauseKind.ATOMIC_ARGUMENT: "argument of an atomic operation",
    CauseKind.ARGUMENT: "argument of {0}",
    CauseKind.BOUND: "bound to {0}",
    CauseKind.HELD: "kept in {0}",
    CauseKind.WITH_OBJECT: "with an object that has it",
    CauseKind.PERHAPS_ARRAY: "it may be an array, the type is not known",
    CauseKind.CONVERTED_AWAY: "converted to what is not followed",
    CauseKind.AS_VALUE: "used as a value",
    CauseKind.AS_NUMBER: "used as a number",
    CauseKind.POINTER_TO_IT: "the address of a pointer to it is taken",
    CauseKind.STORED: "stored",
    CauseKind.BY_OPERATOR: "used by an operator of its class",
    CauseKind.USED_BY: "used by {0}",
    CauseKind.IN_UNREAD_STATEMENT: "in a statement that is not understood",
    CauseKind.IN_TWO_READINGS: "in a statement that can be read in two ways",
    CauseKind.IN_LOCAL_CLASS: "used in a class of the kernel",
    CauseKind.IN_DEFAULT_ARGUMENT: "a default argument",
    CauseKind.IN_INITIALIZER: "used to make an object",
    CauseKind.CAPTURED_RENAMED: "captured under another name",
    CauseKind.CAPTURED: "captured: {of},",
    CauseKind.IN_EXPRESSION: "used in a {of}",
    CauseKind.PACK_EXPANSION: "pack expansion",
    CauseKind.STATEMENT_EXPRESSION: "statement expression",
    CauseKind.NOT_INLINED: "not inlined",
    CauseKind.PASSED_ON: "{0} is passed on",
    CauseKind.LAMBDA_PASSED_ON: "a lambda that is passed on",
    CauseKind.RESULT_BOUND: "its result is bound",
    CauseKind.STOPPED: "its analysis was stopped",
    CauseKind.UNUSED: "nothing is read or written through it",
    CauseKind.HELPER_USES: "`{0}`, which is not followed, uses dynamic shared memory",
    CauseKind.CALL_SHARES: "a call that is not followed may use the same array",
    CauseKind.CALL_PERHAPS_SHARES: "a call that is not followed may use the same array: {of}",
    CauseKind.UNSEEN: "not every access to `{0}` is seen",
    CauseKind.ACCESS: "the {1} through `{0}`",
    CauseKind.ASYNCHRONOUS_ACCESS: "an asynchronous {1} through `{0}`",
    CauseKind.BEGINS_BEFORE: "{of} may begin {1} B before `{0}`",
    CauseKind.LENGTH: "how many bytes {of} touches is not known",
    CauseKind.LAYOUT: "where {of} to {0} begins: the layout of its class is not known",
    CauseKind.LAYOUT_OF_ELEMENTS: "where {of} to its elements begins: the layout of its class is not known",
    CauseKind.TYPE_SIZE: "how many bytes {of} touches: the size of its type is not known",
    CauseKind.START: "where {of} begins is not followed",
    CauseKind.EXTENT: "",  # see above
    CauseKind.MAY_PASS: "{of} may reach past where `{0}` begins: they are one range",
    CauseKind.BYTES: "which bytes of `{0}` an access touches is not followed",
    CauseKind.ACCESS_START: "where an access to `{0}` begins is not followed",
    CauseKind.SEVERAL_PLACES: "`{0}` points to several places",
    CauseKind.POINTER_START: "where `{0}` begins is not followed",
    CauseKind.SEVERAL_POINTERS: "an access goes through one of several pointers: {all}",
    CauseKind.PART_EXTENT: "how far `{0}` reaches is not known, of which `{1}` is only a part",
    CauseKind.LEAVES_RANGE: "that the access stays inside of `{0}` is not proved",
    CauseKind.WHICH_FIRST: "whether `{0}` or `{1}` begins first is not known",
    CauseKind.BEFORE_ARRAY: "`{0}` may begin before the array",
    CauseKind.LANDINGS: "asynchronous copies into {0} ranges land together; at most {1} are told apart",
    CauseKind.LANDINGS_OF_BOTH: (
        "asynchronous copies into static arrays land together with those into dynamic shared memory"
    ),
    CauseKind.PARAMETER: "`{0}`",
    CauseKind.LOOP_VARIABLE: "`{0}`, which a loop changes",
    CauseKind.LOADED: "a loaded value",
    CauseKind.CALLED: "the value of a call",
    CauseKind.BEHIND_LOOP: "a value behind a loop",
    CauseKind.UNSET: "a variable without a value",
    CauseKind.VALUE: "a value that is not followed",
    CauseKind.RESULT: "the result of `{0}`",
}
