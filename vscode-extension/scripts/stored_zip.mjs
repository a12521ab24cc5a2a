// A zip archive without compression. What packs it again finds what its files have in common, which one file at a time
// cannot: a tenth less, and nothing to unpack where it is read.
import zlib from 'node:zlib';

// PKWARE's APPNOTE, 4.3
const LOCAL = 0x04034b50, ENTRY = 0x02014b50, END = 'PK\x05\x06';
const LOCAL_SIZE = 30, ENTRY_SIZE = 46, END_SIZE = 22;
const SIZES_FOLLOW = 8; // a flag

/** The bytes of an archive without comments, encryption or entries of 4 GB. */
export function storedZip(archive) {
  const end = archive.lastIndexOf(Buffer.from(END, 'latin1'));
  if (end < 0) throw new Error('this is no zip archive');
  const files = [], entries = [];
  let at = archive.readUInt32LE(end + 16), offset = 0;
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (archive.readUInt32LE(at) !== ENTRY) throw new Error(`no entry of a zip archive at byte ${at}`);
    const method = archive.readUInt16LE(at + 10);
    const [packed, size] = [archive.readUInt32LE(at + 20), archive.readUInt32LE(at + 24)];
    const lengths = [28, 30, 32].map((field) => archive.readUInt16LE(at + field));
    const name = archive.subarray(at + ENTRY_SIZE, at + ENTRY_SIZE + lengths[0]);
    const begin = archive.readUInt32LE(at + 42);
    const data = begin + LOCAL_SIZE + archive.readUInt16LE(begin + 26) + archive.readUInt16LE(begin + 28);
    const bytes = archive.subarray(data, data + packed);
    const content = method === 0 ? bytes : zlib.inflateRawSync(bytes);
    if (content.length !== size) throw new Error(`${name} has ${content.length} bytes, not ${size}`);

    const local = Buffer.alloc(LOCAL_SIZE);
    local.writeUInt32LE(LOCAL, 0);
    archive.copy(local, 4, at + 6, at + 28); // version needed to the sizes
    const flags = archive.readUInt16LE(at + 8) & ~SIZES_FOLLOW;
    local.writeUInt16LE(flags, 6);
    local.writeUInt16LE(0, 8);
    local.writeUInt32LE(size, 18);
    local.writeUInt16LE(name.length, 26);
    files.push(local, name, content);

    const entry = Buffer.from(archive.subarray(at, at + ENTRY_SIZE));
    entry.writeUInt16LE(flags, 8);
    entry.writeUInt16LE(0, 10);
    entry.writeUInt32LE(size, 20);
    entry.writeUInt32LE(0, 30); // no extra fields, no comment
    entry.writeUInt32LE(offset, 42);
    entries.push(entry, name);
    offset += LOCAL_SIZE + name.length + size;
    at += ENTRY_SIZE + lengths.reduce((sum, each) => sum + each, 0);
  }
  const last = Buffer.from(archive.subarray(end, end + END_SIZE));
  last.writeUInt32LE(entries.reduce((sum, each) => sum + each.length, 0), 12);
  last.writeUInt32LE(offset, 16);
  last.writeUInt16LE(0, 20);
  return Buffer.concat([...files, ...entries, last]);
}
