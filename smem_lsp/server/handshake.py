"""What the client can do and what we offer it. Plain JSON in and out, so that ``initialize`` is answered before pygls
is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from smem_lsp.output.version import TOOL, VERSION
from smem_lsp.server.positions import PositionEncoding
from smem_lsp.source.record import dataclass

Json = Mapping[str, object]

CODE_ACTION_KINDS = (
    *("quickfix", "refactor.rewrite", "refactor.rewrite.mergeBuffers", "refactor.rewrite.unmergeBuffers"),
    "source.fixAll.smem",
)


@dataclass(frozen=True, slots=True)
class Features:
    """Those of the client's capabilities that change what we send."""

    encoding: PositionEncoding = PositionEncoding.UTF16
    pull_diagnostics: bool = False
    related_information: bool = False
    unnecessary_tag: bool = False
    document_changes: bool = False
    literal_code_actions: bool = False
    resolve_edits: bool = False  # of code actions
    disabled_code_actions: bool = False
    preferred_code_actions: bool = False
    markdown: bool = False  # in hovers
    inlay_hints: bool = False
    configuration: bool = False  # workspace/configuration
    register_configuration: bool = False
    register_watched_files: bool = False
    refresh_diagnostics: bool = False
    refresh_code_lens: bool = False
    refresh_inlay_hints: bool = False
    work_done_progress: bool = False
    change_annotations: bool = False  # says what an edit does
    commands: frozenset[str] = frozenset()  # of ours that the client has, by initializationOptions.commands


@dataclass(frozen=True, slots=True)
class Client:
    """The client, from the parameters of ``initialize``. ``folders`` are URIs."""

    features: Features = Features()
    process: int | None = None
    folders: tuple[str, ...] = ()
    settings: Json = field(default_factory=dict)  # initializationOptions.settings
    trusted: bool = False  # the workspace is: a compiler may run, even one that the workspace names


def token_of(params: Json) -> object:
    """The token that a client sends with ``initialize``, of whatever type; None without one."""
    options = params.get("initializationOptions")
    return options.get("token") if isinstance(options, Mapping) else None


def read_client(params: Json, *, remote: bool = False) -> Client:
    """The client that sent ``initialize``. A parameter of a wrong type counts as missing.

    ``remote``: it may be anybody, so it cannot declare a workspace trusted and no program is run for it.
    """
    options = params.get("initializationOptions")
    options = options if isinstance(options, Mapping) else {}
    settings = options.get("settings")
    process = params.get("processId")
    commands = options.get("commands")
    commands = commands if isinstance(commands, list) else []
    features = read_features(params.get("capabilities"))
    return Client(
        features=replace(features, commands=frozenset(each for each in commands if isinstance(each, str))),
        process=process
        if isinstance(process, int) and not isinstance(process, bool) and process > 0
        else None,
        folders=_folders(params),
        settings=settings if isinstance(settings, Mapping) else {},
        trusted=options.get("trusted") is True and not remote,
    )


def read_features(capabilities: object) -> Features:
    """``ClientCapabilities`` of LSP 3.17 as JSON."""

    def get(path: str) -> object:
        value = capabilities
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def has(path: str) -> bool:
        return get(path) is True

    def lists(path: str, wanted: object) -> bool:
        value = get(path)
        return isinstance(value, list) and wanted in value

    pull = isinstance(get("textDocument.diagnostic"), Mapping)
    # Only after LSP 3.17 do clients announce related information for pulled diagnostics separately.
    diagnostics = ("textDocument.publishDiagnostics", "textDocument.diagnostic")
    return Features(
        encoding=_encoding(get("general.positionEncodings")),
        pull_diagnostics=pull,
        related_information=any(has(f"{where}.relatedInformation") for where in diagnostics),
        unnecessary_tag=any(lists(f"{where}.tagSupport.valueSet", 1) for where in diagnostics),
        document_changes=has("workspace.workspaceEdit.documentChanges"),
        literal_code_actions=isinstance(get("textDocument.codeAction.codeActionLiteralSupport"), Mapping),
        resolve_edits=has("textDocument.codeAction.dataSupport")
        and lists("textDocument.codeAction.resolveSupport.properties", "edit"),
        disabled_code_actions=has("textDocument.codeAction.disabledSupport"),
        preferred_code_actions=has("textDocument.codeAction.isPreferredSupport"),
        markdown=lists("textDocument.hover.contentFormat", "markdown"),
        inlay_hints=isinstance(get("textDocument.inlayHint"), Mapping),
        configuration=has("workspace.configuration"),
        register_configuration=has("workspace.didChangeConfiguration.dynamicRegistration"),
        register_watched_files=has("workspace.didChangeWatchedFiles.dynamicRegistration"),
        refresh_diagnostics=has("workspace.diagnostics.refreshSupport"),
        refresh_code_lens=has("workspace.codeLens.refreshSupport"),
        refresh_inlay_hints=has("workspace.inlayHint.refreshSupport"),
        work_done_progress=has("window.workDoneProgress"),
        change_annotations=isinstance(get("workspace.workspaceEdit.changeAnnotationSupport"), Mapping),
    )


def initialize_result(features: Features) -> dict[str, object]:
    """``InitializeResult``. Symbols, folding, tokens and completion are left to clangd, which runs beside us."""
    capabilities: dict[str, object] = {
        "positionEncoding": features.encoding.value,
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
        "hoverProvider": True,
        "codeLensProvider": {"resolveProvider": False},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
    }
    if features.literal_code_actions:
        capabilities["codeActionProvider"] = {
            "codeActionKinds": list(CODE_ACTION_KINDS),
            "resolveProvider": features.resolve_edits,
        }
    if features.inlay_hints:
        capabilities["inlayHintProvider"] = {"resolveProvider": False}
    if features.pull_diagnostics:
        capabilities["diagnosticProvider"] = {
            "identifier": "smem",
            "interFileDependencies": True,  # an included header changes findings
            "workspaceDiagnostics": False,
        }
    return {"capabilities": capabilities, "serverInfo": {"name": TOOL, "version": VERSION}}


def _encoding(offered: object) -> PositionEncoding:
    """The first offered encoding that we know. clangd chooses the same way, so both servers agree. Default: UTF-16."""
    for name in offered if isinstance(offered, list) else ():
        if name in tuple(encoding.value for encoding in PositionEncoding):
            return PositionEncoding(name)
    return PositionEncoding.UTF16


def _folders(params: Json) -> tuple[str, ...]:
    folders = params.get("workspaceFolders")
    if isinstance(folders, list):
        uris = (folder.get("uri") for folder in folders if isinstance(folder, Mapping))
        return tuple(uri for uri in uris if isinstance(uri, str))
    root = params.get("rootUri")
    if isinstance(root, str):
        return (root,)
    path = params.get("rootPath")
    if isinstance(path, str) and path:
        from smem_lsp.server.uris import uri_of

        return (uri_of(path),)
    return ()
