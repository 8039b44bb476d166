/** The object of which a plan is made, in the version in which plans are made, with its defaults. */
import type { Draft, KindObject, Mistyped } from "../../crds/index.ts";
import { formatFieldErrors, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import type { Subject } from "./forecast.ts";

/** The template of a stored object stays as it is: admission has filled it in, or was told not to. */
export type Origin = "stored" | "manifest";

export interface SubjectKind<Spec, Status> {
  readonly kind: string;
  /** The member without which it cannot be planned, and what users call it. */
  readonly needs: { readonly path: readonly string[]; readonly name: string };
  /** The object with its defaults, in the storage version. */
  read(object: JsonObject, origin: Origin): { object: Draft<KindObject<Spec, Status>> } | Mistyped;
}

/** Throws CliError with the field errors. */
export function subjectOf<Spec, Status>(
  kind: SubjectKind<Spec, Status>,
  { stored, manifest }: Subject,
): KindObject<Spec, Status> {
  const live = stored === undefined ? undefined : typed(kind, stored, "stored");
  const wanted = manifest === undefined ? undefined : typed(kind, manifest, "manifest");
  if (live !== undefined) return wanted === undefined ? live : { ...live, spec: wanted.spec };
  if (wanted === undefined) throw new CliError(`no ${kind.kind} to plan`);
  return wanted;
}

function typed<Spec, Status>(
  { kind, needs, read }: SubjectKind<Spec, Status>,
  object: AnyObject,
  origin: Origin,
): KindObject<Spec, Status> {
  const article = /^[AEIOU]/.test(kind) ? "an" : "a";
  if (!isJsonObject(object) || !isJsonObject(at(object, ...needs.path)))
    throw new CliError(`${article} ${kind} needs a ${needs.name}`);
  const found = read(object, origin);
  if ("errors" in found) throw new CliError(`the ${kind} is invalid: ${formatFieldErrors(found.errors)}`);
  const { spec } = found.object;
  if (spec === undefined) throw new CliError(`${article} ${kind} needs a spec`);
  return { ...found.object, spec };
}
