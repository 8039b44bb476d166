/** An object that people of a simulation apply, and what most of them are made of. */
import type { Chance } from "./chance.ts";

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: object };
  readonly spec?: object;
}

export interface Applied {
  /** Of the object, below the server. */
  readonly path: string;
  readonly manifest: Manifest;
  /** A merge patch that somebody may send later. */
  readonly change: (chance: Chance) => object;
}

export type Maker = (chance: Chance, namespace: string, name: string) => Applied;

const images = ["web:1", "web:2", "web:3", "web:4"] as const;
export const apps = "apps.kruise.io";

export function image(chance: Chance): string {
  return chance.oneOf(images);
}

export function amount(chance: Chance, most: number): number | string {
  return chance.is(0.3) ? `${chance.oneOf([10, 25, 34, 50, 100])}%` : chance.whole(1, most);
}

export function partition(chance: Chance): number | string {
  return chance.is(0.5) ? 0 : chance.is(0.6) ? `${chance.oneOf([20, 50, 90])}%` : chance.whole(1, 4);
}

export function template(name: string, chance: Chance, more: object = {}, labels: object = {}): object {
  return {
    metadata: { labels: { app: name, group: "simulated", ...labels } },
    spec: {
      terminationGracePeriodSeconds: chance.oneOf([0, 1, 10]),
      containers: [{ name: "main", image: image(chance) }],
      ...more,
    },
  };
}

export function selector(name: string): object {
  return { matchLabels: { app: name } };
}

export function newImage(chance: Chance): object {
  return { spec: { template: imageTemplate(chance) } };
}

function imageTemplate(chance: Chance): object {
  return { spec: { containers: [{ name: "main", image: image(chance) }] } };
}

/** A pause, with which as often as not the next version is applied, or its end. `strategy`: where it is said. */
export function newPause(chance: Chance, strategy: (paused: boolean) => object): object {
  const paused = chance.is(0.5);
  const next = paused && chance.is(0.5) ? { template: imageTemplate(chance) } : {};
  return { spec: { updateStrategy: strategy(paused), ...next } };
}

export function newEnvironment(chance: Chance): object {
  const env = [{ name: "ROUND", value: String(chance.whole(1, 9)) }];
  return { spec: { template: { spec: { containers: [{ name: "main", image: image(chance), env }] } } } };
}

export function newAnnotation(chance: Chance): object {
  return { spec: { template: { metadata: { annotations: { round: String(chance.whole(1, 9)) } } } } };
}

export function object(
  version: string,
  plural: string,
  kind: string,
  at: { readonly namespace?: string; readonly name: string },
  spec: object,
  change: (chance: Chance) => object,
): Applied {
  const [group = "", number = ""] = version.split("/");
  const place = at.namespace === undefined ? "" : `/namespaces/${at.namespace}`;
  return {
    path: `/apis/${group}/${number}${place}/${plural}/${at.name}`,
    manifest: { apiVersion: version, kind, metadata: { ...at }, spec },
    change,
  };
}

/** Of what people have made by a name that a controller would like to have. */
export const theirsLabel = "simulated.io/theirs";

/** Of a pod that somebody has taken away from its workload, to look into it. */
export const asideLabel = "simulated.io/aside";

/** A label that keeps a pod from being deleted or updated until somebody takes it off (`hook_keeper.ts`). */
export const heldLabel = "simulated.io/held";

interface Hooks {
  readonly labels: object;
  readonly spec: object;
}

/** Hooks of a workload, and the labels of its pods; mostly none. */
export function heldBy(chance: Chance): Hooks {
  if (!chance.is(0.25)) return { labels: {}, spec: {} };
  return hooksOf(chance.oneOf([["preDelete"], ["preDelete", "inPlaceUpdate"]]));
}

/** Of a kind that knows no hook of updates. */
export function heldWhenDeleted(chance: Chance): Hooks {
  return chance.is(0.25) ? hooksOf(["preDelete"]) : { labels: {}, spec: {} };
}

/** Names of the volumes that each pod of a workload has for itself; mostly none. */
export function ownVolumes(chance: Chance): readonly string[] {
  return chance.is(0.35) ? chance.oneOf([["data"], ["data", "logs"]]) : [];
}

/** Of the volumes of these names, with sizes that chance draws. */
export function claimTemplates(chance: Chance, names: readonly string[]): object {
  if (names.length === 0) return {};
  const spec = (): object => claimSpec(`${chance.whole(1, 3)}Gi`);
  return { volumeClaimTemplates: names.map((name) => ({ metadata: { name }, spec: spec() })) };
}

export function hasClaims({ spec = {} }: Manifest): boolean {
  return "volumeClaimTemplates" in spec;
}

export function claimSpec(storage: string): object {
  return { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } };
}

function hooksOf(names: readonly string[]): Hooks {
  const labels = { [heldLabel]: "true" };
  const lifecycle = Object.fromEntries(names.map((name) => [name, { labelsHandler: labels }]));
  return { labels, spec: { lifecycle } };
}
