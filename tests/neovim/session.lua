-- One session, as a user has it: open the file in $SMEM_FILE, read the diagnostics, take the merge, write the file.
-- Results go to $SMEM_RESULTS as JSON. Runs on Neovim 0.7, which has neither vim.lsp.start nor -l.
local results = {}

local function finish(code)
  vim.fn.writefile({ vim.fn.json_encode(results) }, os.getenv('SMEM_RESULTS'))
  vim.cmd(code == 0 and 'qall!' or 'cquit ' .. code)
end

local function wait(what, milliseconds, ask)
  if vim.wait(milliseconds, ask, 20) then return end
  results.failed = 'waited ' .. milliseconds / 1000 .. ' s for ' .. what
  finish(1)
end

vim.cmd('filetype on')
vim.cmd('edit ' .. vim.fn.fnameescape(os.getenv('SMEM_FILE')))
local buffer = vim.api.nvim_get_current_buf()
results.filetype = vim.bo[buffer].filetype

local client_id = vim.lsp.start_client({
  name = 'smem-lsp',
  cmd = vim.fn.json_decode(os.getenv('SMEM_COMMAND')),
  root_dir = vim.fn.fnamemodify(os.getenv('SMEM_FILE'), ':h'),
  init_options = { settings = { arch = { 'sm_86' }, registers = 40, ignore = { 'SMEM204', 'SMEM501' } } },
})
vim.lsp.buf_attach_client(buffer, client_id)
local client = vim.lsp.get_client_by_id(client_id)

wait('diagnostics', 60000, function() return #vim.diagnostic.get(buffer) > 0 end)
local found = vim.diagnostic.get(buffer)
results.diagnostics = {}
for _, diagnostic in ipairs(found) do
  local line = vim.api.nvim_buf_get_lines(buffer, diagnostic.lnum, diagnostic.lnum + 1, false)[1]
  table.insert(results.diagnostics, {
    code = diagnostic.code,
    message = diagnostic.message,
    severity = diagnostic.severity,
    text = line:sub(diagnostic.col + 1, diagnostic.end_col),
  })
end
results.encoding = client.offset_encoding

local function request(method, params)
  local answer = vim.lsp.buf_request_sync(buffer, method, params, 60000)
  local mine = answer and answer[client_id] or {}
  if mine.error then
    results.failed = method .. ': ' .. vim.inspect(mine.error)
    finish(1)
  end
  return mine.result
end

vim.api.nvim_win_set_cursor(0, { found[1].lnum + 1, found[1].col })
local params = vim.lsp.util.make_range_params()
params.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics(buffer) }
local actions = request('textDocument/codeAction', params)
results.actions = vim.tbl_map(function(action) return { title = action.title, kind = action.kind } end, actions)

local hover = request('textDocument/hover', vim.lsp.util.make_position_params())
results.hover = table.concat(vim.lsp.util.convert_input_to_markdown_lines(hover.contents), '\n')

-- What vim.lsp.buf.code_action() does once its user has chosen.
local merge = vim.tbl_filter(function(action) return vim.startswith(action.title, 'Merge') end, actions)[1]
if merge and not merge.edit then merge = request('codeAction/resolve', merge) end
vim.lsp.util.apply_workspace_edit(merge.edit, client.offset_encoding)
wait('silence after the merge', 60000, function() return #vim.diagnostic.get(buffer) == 0 end)
vim.cmd('write')

vim.cmd('undo')
wait('the finding after undo', 60000, function() return #vim.diagnostic.get(buffer) == #found end)

client.stop()
wait('the end of the server', 60000, function() return client.is_stopped() end)
finish(0)
