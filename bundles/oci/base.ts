/** The image that another one stands on. */
import { BundleError } from "../errors.ts";
import { type Descriptor, digestOf } from "./documents.ts";

export interface Base {
  /** As the caller named it. */
  readonly name: string;
  /** Its index or manifest. */
  readonly root: Descriptor;
  /** Rejects with BundleError where the blob is missing or not what its digest says. */
  read(descriptor: Descriptor): Promise<Uint8Array>;
}

/** The bytes, if they are those that the descriptor means; throws BundleError else. */
export function verified(name: string, descriptor: Descriptor, bytes: Uint8Array): Uint8Array {
  if (bytes.length === descriptor.size && digestOf(bytes) === descriptor.digest) return bytes;
  throw new BundleError(
    `base ${name}: ${descriptor.digest} holds other bytes than its digest says; copy it again`,
  );
}
