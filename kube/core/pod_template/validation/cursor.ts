/** One object under validation: where it is, what it holds, and the list that takes its errors. */
import * as errors from "../../field_errors.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import type { FieldError } from "../../types.ts";
import { flagAt, has, listAt, numberAt, objectAt, textAt } from "../fields.ts";

export class Cursor {
  readonly value: JsonObject;
  readonly path: string;
  readonly errors: FieldError[];

  constructor(value: JsonObject, path: string, errors: FieldError[]) {
    this.value = value;
    this.path = path;
    this.errors = errors;
  }

  /** Path of a member; the object's own path for the empty name. */
  at(key: string): string {
    return key === "" ? this.path : errors.childPath(this.path, key);
  }

  has(key: string): boolean {
    return has(this.value, key);
  }

  text(key: string): string {
    return textAt(this.value, key);
  }

  number(key: string): number | undefined {
    return numberAt(this.value, key);
  }

  flag(key: string): boolean {
    return flagAt(this.value, key);
  }

  list(key: string): readonly unknown[] {
    return listAt(this.value, key);
  }

  texts(key: string): string[] {
    return this.list(key).filter((item) => typeof item === "string");
  }

  object(key: string): Cursor | undefined {
    const value = objectAt(this.value, key);
    return value === undefined ? undefined : new Cursor(value, this.at(key), this.errors);
  }

  /** The same for a member whose absence says as much as an empty one. */
  objectOrEmpty(key: string): Cursor {
    return this.object(key) ?? new Cursor({}, this.at(key), this.errors);
  }

  /** The objects of a list, each with its indexed path. */
  objects(key: string): Cursor[] {
    const found: Cursor[] = [];
    this.list(key).forEach((item, index) => {
      if (isJsonObject(item)) found.push(new Cursor(item, `${this.at(key)}[${index}]`, this.errors));
    });
    return found;
  }

  /** The same object under another path, for errors that the server reports elsewhere. */
  movedTo(path: string): Cursor {
    return new Cursor(this.value, path, this.errors);
  }

  add(...found: readonly FieldError[]): void {
    this.errors.push(...found);
  }

  required(key: string, detail = ""): void {
    this.add(errors.required(this.at(key), detail));
  }

  invalid(key: string, value: unknown, detail: string): void {
    this.add(errors.invalid(this.at(key), value, detail));
  }

  forbidden(key: string, detail: string): void {
    this.add(errors.forbidden(this.at(key), detail));
  }

  duplicate(key: string, value: unknown): void {
    this.add(errors.duplicate(this.at(key), value));
  }

  notFound(key: string, value: unknown): void {
    this.add(errors.notFound(this.at(key), value));
  }

  /** Turns complaints about a value into errors of the member. */
  complain(key: string, value: unknown, complaints: readonly string[]): void {
    for (const complaint of complaints) this.invalid(key, value, complaint);
  }

  /** The text must follow the rule. */
  follows(key: string, rule: (value: string) => readonly string[]): void {
    this.complain(key, this.text(key), rule(this.text(key)));
  }

  followsIfSet(key: string, rule: (value: string) => readonly string[]): void {
    if (this.text(key) !== "") this.follows(key, rule);
  }

  /** The same for each text of a list. */
  complainEach(key: string, values: readonly string[], rule: (value: string) => readonly string[]): void {
    for (const [index, value] of values.entries()) this.complain(`${key}[${index}]`, value, rule(value));
  }

  /** False, and an error, if the text is absent or empty. */
  needsText(key: string, detail = ""): boolean {
    if (this.text(key) !== "") return true;
    this.required(key, detail);
    return false;
  }

  /** The text must be one of the words; absent is none of them. */
  oneOf(key: string, words: readonly string[]): void {
    if (!words.includes(this.text(key))) this.add(errors.notSupported(this.at(key), this.text(key), words));
  }

  /** The text must be one of the words; absent is fine unless `needed`. */
  choice(key: string, words: readonly string[], needed = false): void {
    const text = this.text(key);
    if (words.includes(text)) return;
    if (text !== "") this.add(errors.notSupported(this.at(key), text, words));
    else if (needed) this.required(key);
  }

  /** A value of another place that is reported at this member: it must be there, and one of the words. */
  oneOfAt(key: string, value: string, words: readonly string[]): void {
    if (value === "") this.required(key);
    else if (!words.includes(value)) this.add(errors.notSupported(this.at(key), value, words));
  }
}
