import type { StoredObject } from "./cluster.ts";

/** One version of one object, with its serialised forms made at most once. */
export class Revision {
  readonly object: StoredObject;
  readonly version: number;
  readonly namespace: string;
  readonly name: string;
  /** `<apiVersion>` -> the object in that version, `table`... -> other forms that readers share. */
  readonly forms = new Map<string, unknown>();
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

  /** JSON without the outer braces, apiVersion and kind: items of typed lists are sent without these two. */
  get members(): Buffer {
    if (this.#members === undefined) {
      const { apiVersion: _apiVersion, kind: _kind, ...rest } = this.object;
      this.#members = Buffer.from(JSON.stringify(rest).slice(1, -1));
    }
    return this.#members;
  }
}
