import SAMPLE from '../walkthrough/sample.cu';
import { Client, type CodeAction, type Diagnostic, type Kernel } from './client';
import { fromFragment, toFragment } from './share';
import { applied, compared, shortened, spanOf } from './texts';

const PAUSE = 300; // milliseconds without a key before the text is looked at
const AROUND = 2; // lines beside a change
const SEVERITIES = ['', 'error', 'warning', 'info', 'info'];

function element<E extends HTMLElement>(id: string): E {
  return document.getElementById(id) as E;
}

const text = element<HTMLTextAreaElement>('text');
const lines = element('lines');
const target = element<HTMLSelectElement>('target');
const status = element('status');
const findings = element('findings');
const kernels = element('kernels');
const map = element<HTMLImageElement>('map');
const rewrite = element('rewrite');

const client = new Client((reason) => say(reason));
let shown = ''; // the name of the kernel whose map is shown
let offered = ''; // the text with the rewrite that is shown
let result = 'Ready.'; // what the status says when all is shown

function say(words: string): void {
  status.textContent = words;
}

function button(words: string, press: () => void, className = ''): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = words;
  made.className = className;
  made.addEventListener('click', press);
  return made;
}

function numberLines(diagnostics: Diagnostic[]): void {
  const worst = new Map<number, number>();
  for (const { range, severity } of diagnostics) {
    worst.set(range.start.line, Math.min(severity, worst.get(range.start.line) ?? severity));
  }
  const numbers = text.value.split('\n').map((_, line) => {
    const severity = worst.get(line);
    const number = document.createElement('span');
    number.textContent = `${line + 1}`;
    if (severity !== undefined) number.className = SEVERITIES[severity] ?? '';
    return number;
  });
  lines.replaceChildren(...numbers);
  lines.scrollTop = text.scrollTop;
}

/** The texts that answers belong to: one that comes for an older text is dropped. */
async function show(diagnostics: Diagnostic[]): Promise<void> {
  const of = text.value;
  const fixes = await Promise.all(diagnostics.map((each) => client.fixes(each)));
  const found = await client.kernels();
  if (text.value !== of) return;
  numberLines(diagnostics);
  const entries = diagnostics.map((each, index) => entryOf(each, fixes[index] ?? []));
  findings.replaceChildren(...(entries.length > 0 ? entries : [item('Nothing was found.')]));
  kernels.replaceChildren(...(found.length > 0 ? found.map(kernelEntry) : [item('No kernel with shared memory.')]));
  const kernel = found.find(({ name }) => name === shown) ?? found[0];
  if (kernel) await showMap(kernel);
  else map.hidden = true;
  say(result);
}

function item(words: string): HTMLLIElement {
  const made = document.createElement('li');
  made.textContent = words;
  return made;
}

function entryOf(diagnostic: Diagnostic, fixes: CodeAction[]): HTMLLIElement {
  const { code, message, range, severity } = diagnostic;
  const made = document.createElement('li');
  const place = button(`${range.start.line + 1}: ${message} (${code})`, () => select(diagnostic), 'place');
  place.classList.add(SEVERITIES[severity] ?? '');
  const row = document.createElement('div');
  row.append(...fixes.map((fix) => button(fix.title, () => void offer(fix))));
  made.append(place, row);
  return made;
}

function select({ range }: Diagnostic): void {
  text.focus();
  text.setSelectionRange(...spanOf(text.value, range));
  const height = text.scrollHeight / text.value.split('\n').length;
  text.scrollTop = Math.max(0, range.start.line * height - text.clientHeight / 2);
}

async function offer(fix: CodeAction): Promise<void> {
  const before = text.value;
  offered = applied(before, await client.edits(fix));
  if (text.value !== before || offered === before) return;
  element('title').textContent = fix.title;
  const rows = shortened(compared(before, offered), AROUND).map((line) => {
    const made = document.createElement(line === undefined || line.sign === ' ' ? 'span' : line.sign === '+' ? 'ins' : 'del');
    made.textContent = line === undefined ? '⋮\n' : `${line.sign} ${line.text}${made.tagName === 'SPAN' ? '\n' : ''}`;
    return made;
  });
  element('diff').replaceChildren(...rows);
  rewrite.hidden = false;
  rewrite.scrollIntoView({ block: 'nearest' });
}

function kernelEntry(kernel: Kernel): HTMLLIElement {
  const made = document.createElement('li');
  made.append(button(`${kernel.name}: ${kernel.title}`, () => void showMap(kernel), 'place'));
  return made;
}

async function showMap({ name, position }: Kernel): Promise<void> {
  shown = name;
  const drawing = await client.map(position);
  map.hidden = drawing === undefined;
  // As a picture: nothing in it can run, whoever wrote the kernel.
  if (drawing !== undefined) map.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  map.alt = `Memory map of ${name}`;
}

/** A new text, or a new target for it, is on its way. */
function begin(): void {
  rewrite.hidden = true;
  result = 'Ready.';
  say('Looking …');
}

let timer = 0;
function changed(): void {
  begin();
  numberLines([]);
  window.clearTimeout(timer);
  timer = window.setTimeout(() => client.change(text.value), PAUSE);
}

text.addEventListener('input', changed);
text.addEventListener('scroll', () => (lines.scrollTop = text.scrollTop));
target.addEventListener('change', () => {
  begin();
  client.retarget(target.value);
});
element('apply').addEventListener('click', () => {
  text.value = offered;
  changed();
});
element('discard').addEventListener('click', () => (rewrite.hidden = true));
element('share').addEventListener('click', async () => {
  window.history.replaceState(undefined, '', `#${await toFragment({ text: text.value, target: target.value })}`);
  await navigator.clipboard.writeText(window.location.href).then(
    () => say('The link is in the clipboard.'),
    () => say('The link is in the address bar.'),
  );
});

const fragment = window.location.hash.slice(1);
const shared = fragment ? await fromFragment(fragment) : undefined;
text.value = shared?.text ?? SAMPLE;
if (shared && [...target.options].some(({ value }) => value === shared.target)) target.value = shared.target;
numberLines([]);
if (fragment && !shared) result = 'This link holds no kernel; a sample is shown.';
client.found = (diagnostics) => void show(diagnostics);
await client.start(() => ({ text: text.value, target: target.value }));
say('Looking …');
