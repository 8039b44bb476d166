/** protobufjs' reader for the hand-written decoders, always over a Buffer. */
import protobuf from "protobufjs/minimal.js";

export type { protobuf };

export function readerOf(bytes: Uint8Array): { reader: protobuf.Reader; buffer: Buffer } {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { reader: protobuf.Reader.create(buffer), buffer };
}
