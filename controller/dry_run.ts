/** One pass of a kind's own reconciler over what the cluster holds now: what it would do, and nothing is done. */
import { createMergePatch, type KubeObject, type ObjectRef } from "../kube/core/index.ts";
import { mapKinds } from "./kinds.ts";
import type { KindEffect } from "./plan/effects.ts";
import type { Kind } from "./runtime/kind.ts";
import { type ListingDeps, listedDeps } from "./runtime/listed_deps.ts";
import type { Result, StatusObject } from "./runtime/reconciler.ts";

export interface DryRun {
  /** False: the gates keep the kind's controller from starting. */
  readonly isEnabled: boolean;
  /** In their order; a status that is offered is one of them. */
  readonly effects: readonly KindEffect[];
  readonly requeueAfterMs: number | undefined;
  /** Kind of the objects that effects know by this name of a resource. */
  kindOf(resource: string): string;
}

type RunDry = (ref: ObjectRef, deps: ListingDeps) => Promise<DryRun>;

interface DryRunKind {
  readonly group: string;
  readonly kind: string;
  readonly run: RunDry;
}

function dryRunOf<T extends KubeObject>({ resource, reconciler, enabled }: Kind<T>): DryRunKind {
  const { group, kind } = resource;
  return {
    group,
    kind,
    async run(ref, deps) {
      const object = await deps.client.get(resource, ref);
      if (enabled?.(deps.options.gates) === false) return disabled;
      const listed = await listedDeps(resource, ref.namespace ?? "", deps);
      try {
        const { key } = resource.codec.identify(object);
        const planner = reconciler(listed.deps);
        let result: Result | undefined;
        // A pass may ask for more.
        while (result === undefined && (await listed.read())) result = await planner.reconcile(object, key);
        return {
          isEnabled: true,
          effects: [...finalizing(object, planner.finalizer), ...effectsOf(object, result)],
          requeueAfterMs: result?.requeueAfterMs,
          kindOf: (name) => planner.writes?.[name]?.kind ?? name,
        };
      } finally {
        listed.stop();
      }
    },
  };
}

const disabled: DryRun = { isEnabled: false, effects: [], requeueAfterMs: undefined, kindOf: (name) => name };

/** The shell adds it before a pass. */
function finalizing({ metadata }: KubeObject, finalizer: string | undefined): KindEffect[] {
  const isThere = finalizer === undefined || metadata.finalizers?.includes(finalizer) === true;
  return isThere || metadata.deletionTimestamp !== undefined ? [] : [{ type: "add finalizer", finalizer }];
}

/** The shell offers the status before it carries out the effects. */
function effectsOf(object: StatusObject, { status, effects = [] }: Result = {}): KindEffect[] {
  const patch = status === undefined ? {} : createMergePatch(object.status ?? {}, status);
  const offered: KindEffect[] =
    Object.keys(patch).length === 0 ? [] : [{ type: "patch status", status: patch }];
  return [...offered, ...effects];
}

/** Kinds whose passes give all that they do as effects. Workloads of pods are planned by their plans. */
const dryRuns = mapKinds<DryRunKind>(dryRunOf);

/** Names of the kinds. */
export const dryRunKinds: readonly string[] = dryRuns.map(({ kind }) => kind);

export function dryRunFor({ group, kind }: Pick<DryRunKind, "group" | "kind">): RunDry | undefined {
  return dryRuns.find((each) => each.group === group && each.kind === kind)?.run;
}
