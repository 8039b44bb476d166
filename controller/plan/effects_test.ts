/** Effects are data: this file does not compile when a type of effect has a member that can be called. */
import t from "tap";
import type { Action } from "../rollout/writes/actions.ts";
import type { KindEffect } from "./effects.ts";

type HasFunction<T> = T extends (...given: never) => unknown
  ? true
  : T extends readonly (infer Each)[]
    ? HasFunction<Each>
    : T extends object
      ? true extends { [Key in keyof T]-?: HasFunction<T[Key]> }[keyof T]
        ? true
        : false
      : false;

/** Of any member of a union. */
type AnyHasFunction<T> = true extends HasFunction<T> ? true : false;

const withFunction: AnyHasFunction<
  { readonly name: string } | { readonly writes: readonly { readonly run: () => void }[] }
> = true;
const effects: AnyHasFunction<KindEffect | Action> = false;

t.test("no type of effect holds a function", async (t) => {
  t.equal(withFunction, true, "the check sees one inside a list");
  t.equal(effects, false);
});
