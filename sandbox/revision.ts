import type { StoredObject } from "./cluster.ts";

/** One version of one object, with its serialised forms made at most once. */
export class Revision {
  readonly object: StoredObject;
  readonly version: number;
  readonly namespace: string;
  readonly name: string;
  /** apiVersion -> the object in that version. */
  readonly forms = new Map<string, Revision>();
  /** apiVersion -> the conversion that is under way. */
  readonly conversions = new Map<string, Promise<void>>();
  readonly #bytes = new Map<string, Uint8Array>();
  #members: Buffer | undefined;

  constructor(object: StoredObject, version: number) {
    this.object = object;
    this.version = version;
    this.namespace = object.metadata.namespace ?? "";
    this.name = object.metadata.name ?? "";
  }

  get key(): string {
    return this.namespace === "" ? this.name : `${this.namespace}/${this.name}`;
  }

  /** This revision in another version of its group, if that was made already; else itself. */
  inVersion(apiVersion: string): Revision {
    return this.object.apiVersion === apiVersion ? this : (this.forms.get(apiVersion) ?? this);
  }

  /** Another serialised form, made once. */
  cached(form: string, make: () => Uint8Array): Uint8Array {
    const known = this.#bytes.get(form);
    if (known !== undefined) return known;
    const made = make();
    this.#bytes.set(form, made);
    return made;
  }

  /** Forgets the serialised forms; they are made again if somebody reads this old version. */
  release(): void {
    this.#members = undefined;
    this.#bytes.clear();
    this.forms.clear();
  }

  /** JSON without the outer braces, apiVersion and kind: items of typed lists are sent without these two. */
  get members(): Buffer {
    if (this.#members === undefined) {
      const { apiVersion: _apiVersion, kind: _kind, ...rest } = this.object;
      this.#members = Buffer.from(JSON.stringify(rest).slice(1, -1));
    }
    return this.#members;
  }
}
