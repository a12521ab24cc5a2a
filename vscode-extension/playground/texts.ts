import type { Position, Range, TextEdit } from './client';

export function offsetOf(text: string, { line, character }: Position): number {
  let start = 0;
  for (let passed = 0; passed < line; passed += 1) start = text.indexOf('\n', start) + 1;
  return start + character;
}

export function spanOf(text: string, { start, end }: Range): [number, number] {
  return [offsetOf(text, start), offsetOf(text, end)];
}

export function applied(text: string, edits: TextEdit[]): string {
  const placed = edits.map(({ range, newText }) => ({ span: spanOf(text, range), newText }));
  placed.sort((a, b) => b.span[0] - a.span[0]);
  return placed.reduce((done, { span, newText }) => done.slice(0, span[0]) + newText + done.slice(span[1]), text);
}

/** A line of a comparison, and where it stands: in both texts, only in the old one, only in the new one. */
export interface Line {
  sign: ' ' | '-' | '+';
  text: string;
}

/** The lines of two texts by their longest common subsequence, in which equal ends are left out of the search. */
export function compared(before: string, after: string): Line[] {
  const old = before.split('\n');
  const now = after.split('\n');
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const same = (lines: string[]): Line[] => lines.map((text) => ({ sign: ' ', text }));
  return [
    ...same(old.slice(0, head)),
    ...middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...same(old.slice(old.length - tail)),
  ];
}

function middle(old: string[], now: string[]): Line[] {
  // longest[i][j]: of what is left behind line i of the old text and line j of the new one
  const longest = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  const at = (i: number, j: number): number => longest[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const row = longest[i];
      if (row) row[j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ sign: ' ', text: old[i] ?? '' });
      i += 1;
      j += 1;
    } else if (j === now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ sign: '-', text: old[i] ?? '' });
      i += 1;
    } else {
      lines.push({ sign: '+', text: now[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}

/** The changed lines of a comparison with up to `around` equal ones beside them, and a gap for the others. */
export function shortened(lines: Line[], around: number): (Line | undefined)[] {
  const near = lines.map((_, index) => lines.slice(Math.max(0, index - around), index + around + 1).some(({ sign }) => sign !== ' '));
  return lines.flatMap((line, index) => (near[index] ? [line] : near[index - 1] ? [undefined] : []));
}
