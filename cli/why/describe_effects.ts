/** Effects in words. */
import type { DryRun, KindEffect } from "../../controller/index.ts";
import { isJsonObject, type JsonObject, keyOf } from "../../kube/core/index.ts";

type Write = Extract<KindEffect, { type: "create" | "patch" | "delete" }>;

/** How lines name objects. */
export interface EffectNames {
  kindOf: DryRun["kindOf"];
  /** Of the object of the plan: what is there is named without it. */
  readonly namespace: string | undefined;
}

/** A line each for what the executor would do, in its order. */
export function describeEffect(effect: KindEffect, names: EffectNames): string[] {
  switch (effect.type) {
    case "create":
    case "patch":
    case "delete":
      return [describeWrite(effect, names)];
    case "edit":
      return [`put a ${effect.edit.type} into ${names.kindOf(effect.resource)} ${effect.name}`];
    case "writes":
      return effect.writes.map((write) => describeWrite(write, names));
    case "attempts":
      return effect.attempts.flatMap(({ effect, after }, index) =>
        describeEffect(effect, names).map((line) =>
          index === 0 ? line : `${line}, if that is refused${after ? ` as ${after.join(" or ")}` : ""}`,
        ),
      );
    case "background":
      return effect.effects.flatMap((each) => describeEffect(each, names));
    case "event":
      return [`report ${effect.event.reason}: ${effect.event.message}`];
    case "create object":
      return ["create the object itself"];
    case "patch object":
      return [`change ${changedIn(effect.body).join(", ")} of the object itself`];
    case "patch status":
      return describeStatusPatch(effect.status);
    case "add finalizer":
    case "remove finalizer":
      return [`${effect.type} ${effect.finalizer}`];
    case "delete object":
      return ["delete the object itself"];
    case "confirm object":
      return [];
  }
}

function describeStatusPatch(patch: object): string[] {
  const changes = Object.entries(patch).map(([name, value]) =>
    ["string", "number", "boolean"].includes(typeof value) ? `${name} ${value}` : name,
  );
  return changes.length === 0 ? [] : [`update status: ${changes.join(", ")}`];
}

function describeWrite(write: Write, { kindOf, namespace }: EffectNames): string {
  const ref = write.namespace === undefined || write.namespace === namespace ? write.name : keyOf(write);
  const named = `${kindOf(write.resource)} ${ref}`;
  if (write.type !== "patch") return `${write.type} ${named}`;
  const { type, body } = write.patch;
  const changed = type === "json" ? body.map(({ path }) => path.slice(1)) : changedIn(body);
  const where = write.subresource === undefined ? "" : ` through ${write.subresource}`;
  return `change ${changed.join(", ")} of ${named}${where}`;
}

/** `spec, metadata.labels`: identities and versions are conditions of the write, not changes. */
function changedIn(body: object): string[] {
  const { metadata, ...rest } = { metadata: {}, ...body };
  const { uid: _, resourceVersion: __, ...changed }: JsonObject = isJsonObject(metadata) ? metadata : {};
  return [...Object.keys(changed).map((name) => `metadata.${name}`), ...Object.keys(rest)];
}
