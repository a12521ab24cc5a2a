"""A rule that compiles CUDA. Rulesets have fuller ones; the action of rules_cuda has the same mnemonic."""

def _cuda_library(ctx):
    objects = []
    for source in ctx.files.srcs:
        object = ctx.actions.declare_file(source.basename + ".o")
        arguments = ctx.actions.args()
        arguments.add_all(ctx.attr.includes, before_each = "-I")
        arguments.add_all(ctx.attr.defines, format_each = "-D%s")
        arguments.add_all(ctx.attr.copts)
        arguments.add_all(["-c", source, "-o", object])
        ctx.actions.run(
            executable = "nvcc",
            arguments = [arguments],
            inputs = [source] + ctx.files.hdrs,
            outputs = [object],
            mnemonic = "CudaCompile",
            use_default_shell_env = True,
        )
        objects.append(object)
    return [DefaultInfo(files = depset(objects))]

cuda_library = rule(
    implementation = _cuda_library,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = True),
        "copts": attr.string_list(),
        "defines": attr.string_list(),
        "includes": attr.string_list(doc = "from the root of the workspace"),
    },
)
