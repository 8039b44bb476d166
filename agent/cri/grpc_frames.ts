/** Messages on a gRPC stream: a byte that says whether it is compressed, four bytes of length, the message. */
import { GrpcError, grpcStatus } from "./grpc_status.ts";

const headerBytes = 5;

export function messageFrame(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(headerBytes + message.byteLength);
  new DataView(frame.buffer).setUint32(1, message.byteLength);
  frame.set(message, headerBytes);
  return frame;
}

/** Puts messages together from pieces as they come off the connection. */
export class MessageReader {
  readonly #limit: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The messages that are complete now. Throws GrpcError on one that is compressed or longer than the limit. */
  push(piece: Uint8Array): Uint8Array[] {
    if (piece.byteLength > 0) this.#pieces.push(piece);
    this.#bytes += piece.byteLength;
    const messages: Uint8Array[] = [];
    while (this.#bytes >= headerBytes) {
      const header = this.#joined(headerBytes);
      if (header[0] !== 0) {
        throw new GrpcError(grpcStatus.UNIMPLEMENTED, "a compressed message, which was not asked for");
      }
      const length = new DataView(header.buffer, header.byteOffset).getUint32(1);
      if (length > this.#limit) {
        const detail = `received message larger than max (${length} vs. ${this.#limit})`;
        throw new GrpcError(grpcStatus.RESOURCE_EXHAUSTED, detail);
      }
      if (this.#bytes < headerBytes + length) break;
      const whole = this.#joined(headerBytes + length);
      messages.push(whole.subarray(headerBytes, headerBytes + length));
      this.#pieces = whole.byteLength > headerBytes + length ? [whole.subarray(headerBytes + length)] : [];
      this.#bytes -= headerBytes + length;
    }
    return messages;
  }

  get isInsideMessage(): boolean {
    return this.#bytes > 0;
  }

  /** The first piece after making it at least so long; joins pieces only when it has to. */
  #joined(bytes: number): Uint8Array {
    const [first] = this.#pieces;
    if (first && first.byteLength >= bytes) return first;
    const whole = new Uint8Array(this.#bytes);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.byteLength;
    }
    this.#pieces = [whole];
    return whole;
  }
}
