/** A text and its target in the fragment of an address: no server ever sees that part. */
export interface Shared {
  text: string;
  target: string;
}

const LONGEST = 1 << 20; // bytes of a text that is unpacked from a link

export async function toFragment(shared: Shared): Promise<string> {
  const packed = await bytesOf(new Blob([JSON.stringify(shared)]).stream().pipeThrough(new CompressionStream('deflate-raw')));
  const binary = Array.from(packed, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Nothing if it is no fragment of ours. */
export async function fromFragment(fragment: string): Promise<Shared | undefined> {
  try {
    const binary = atob(fragment.replaceAll('-', '+').replaceAll('_', '/'));
    const packed = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const bytes = await bytesOf(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw')));
    const { text, target } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Shared>;
    return typeof text === 'string' && typeof target === 'string' ? { text, target } : undefined;
  } catch {
    return undefined; // cut off, or somebody else's
  }
}

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > LONGEST) throw new Error('too long');
    parts.push(part.value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
