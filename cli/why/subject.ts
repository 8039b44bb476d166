/** The object of which a plan is made, in the version in which plans are made, with its defaults. */
import type { FeatureGates } from "../../controller/index.ts";
import type { Draft, KindObject, Mistyped } from "../../crds/index.ts";
import { formatFieldErrors, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, at } from "../fields.ts";
import type { Forecast, ForecastRequest, Planner } from "./forecast.ts";

/** The template of a stored object stays as it is: admission has filled it in, or was told not to. */
type Origin = "stored" | "manifest";

interface SubjectKind<Spec, Status> {
  readonly kind: string;
  /** The member without which it cannot be planned, and what users call it. */
  readonly needs: { readonly path: readonly string[]; readonly name: string };
  /** The object with its defaults, in the storage version. */
  read(
    object: JsonObject,
    origin: Origin,
    gates: FeatureGates,
  ): { object: Draft<KindObject<Spec, Status>> } | Mistyped;
}

interface PlannerParts<Spec, Status> extends SubjectKind<Spec, Status> {
  forecast(object: KindObject<Spec, Status>, request: ForecastRequest): Promise<Forecast>;
}

/** The planner of a kind. Throws CliError with the field errors of an object. */
export function planner<Spec, Status>(parts: PlannerParts<Spec, Status>): Planner {
  return {
    kind: parts.kind,
    forecast: async (request) => parts.forecast(subjectOf(parts, request), request),
  };
}

function subjectOf<Spec, Status>(
  kind: SubjectKind<Spec, Status>,
  { subject: { stored, manifest }, gates }: ForecastRequest,
): KindObject<Spec, Status> {
  const live = stored && typed(kind, stored, "stored", gates);
  const wanted = manifest && typed(kind, manifest, "manifest", gates);
  if (live !== undefined) return wanted === undefined ? live : { ...live, spec: wanted.spec };
  if (wanted === undefined) throw new CliError(`no ${kind.kind} to plan`);
  return wanted;
}

function typed<Spec, Status>(
  { kind, needs, read }: SubjectKind<Spec, Status>,
  object: AnyObject,
  origin: Origin,
  gates: FeatureGates,
): KindObject<Spec, Status> {
  const article = /^[AEIOU]/.test(kind) ? "an" : "a";
  if (!isJsonObject(object) || !isJsonObject(at(object, ...needs.path)))
    throw new CliError(`${article} ${kind} needs a ${needs.name}`);
  const found = read(object, origin, gates);
  if ("errors" in found) throw new CliError(`the ${kind} is invalid: ${formatFieldErrors(found.errors)}`);
  const { spec } = found.object;
  if (spec === undefined) throw new CliError(`${article} ${kind} needs a spec`);
  return { ...found.object, spec };
}
