/** Reads what the findings are about; writes nothing. */
import {
  FeatureGateError,
  type FeatureGates,
  type OtherAction,
  parseFeatureGates,
} from "../../controller/index.ts";
import { kinds } from "../../crds/index.ts";
import { keyOf, type LabelSelector } from "../../kube/core/index.ts";
import { listAll } from "../../kube/index.ts";
import type { Call, ClusterAccess } from "../command.ts";
import { controllerFlags } from "../controller/controller_flags.ts";
import { describeError } from "../errors.ts";
import { type AnyObject, at, listAt, numberAt, selectorAt, textAt } from "../fields.ts";
import { refOfObject } from "../install/apply.ts";
import { objectResource } from "../resource_types.ts";
import type { Forecast } from "../why/forecast.ts";
import { plannerOf } from "../why/planners.ts";
import { givenUpNotice } from "./cron_jobs.ts";
import { differencesOf } from "./differences.ts";
import type { Definition, MigrationFacts, Planned, Unplanned, Webhooks, Workload } from "./facts.ts";
import { runsRefit } from "./program.ts";
import { touchesOf } from "./touch.ts";

export const managerName = "kruise-controller-manager";
export const agentName = "kruise-daemon";

export async function readFacts(call: Call, cluster: ClusterAccess): Promise<MigrationFacts> {
  const namespace = call.flags.required("controller-namespace");
  const reader = new Reader(call, cluster);
  const namespaces = await reader.list("", "Namespace");
  const workloads = [
    ...(await reader.list("apps", "Deployment", namespace)).filter(isNamed(managerName)),
    ...(await reader.list("apps", "DaemonSet", namespace)).filter(isNamed(agentName)),
  ].flatMap(workloadOf);
  const manager = workloads.find(({ kind }) => kind === "Deployment");
  const { text, gates, error } = gatesOf(manager);
  const objects = await reader.objects();
  const { planned, unplanned } = await reader.plans(objects, gates);
  const configuration = (await reader.list("", "ConfigMap", namespace)).find(isNamed("kruise-configuration"));
  return {
    namespace,
    namespaceExists: namespaces.some(isNamed(namespace)),
    objects: Object.fromEntries([...objects].map(([kind, found]) => [kind, found.length])),
    workloads,
    ...(manager === undefined ? {} : { gates: text }),
    ...(error === undefined ? {} : { gatesError: error }),
    definitions: await reader.definitions(),
    webhooks: await reader.webhooks(),
    planned,
    unplanned,
    differences: differencesOf({
      objects,
      namespaces,
      servedNamespaces: await reader.servedNamespaces(),
      configuration,
      gates,
      flags: (manager?.flags ?? []).flatMap((flag) => /^--?([\w-]+)/.exec(flag)?.[1] ?? []),
      knownFlags: new Set([...Object.keys(controllerFlags), "kubeconfig", "namespace"]),
    }),
    unread: reader.unread,
  };
}

const isNamed =
  (name: string) =>
  ({ metadata }: AnyObject): boolean =>
    metadata.name === name;

class Reader {
  /** Lists that could not be read, with the reasons. */
  readonly unread: string[] = [];
  readonly #call: Call;
  readonly #access: ClusterAccess;

  constructor(call: Call, access: ClusterAccess) {
    this.#call = call;
    this.#access = access;
  }

  /** Empty for a kind that is not served, and for what may not be read, which is remembered. */
  async list(group: string, kind: string, namespace?: string): Promise<AnyObject[]> {
    const { client, types } = this.#access;
    try {
      const type = await types.findKind(group, kind);
      if (type === undefined) return [];
      return await listAll(client, objectResource(type), namespace === undefined ? {} : { namespace });
    } catch (error) {
      this.#call.io.signal.throwIfAborted();
      this.unread.push(`${kind}: ${describeError(error)}`);
      return [];
    }
  }

  /** By kind, those that there are. */
  async objects(): Promise<Map<string, AnyObject[]>> {
    const objects = new Map<string, AnyObject[]>();
    for (const { group, kind } of kinds) {
      const found = await this.list(group, kind);
      if (found.length > 0) objects.set(kind, found);
    }
    return objects;
  }

  async plans(
    objects: ReadonlyMap<string, readonly AnyObject[]>,
    gates: FeatureGates,
  ): Promise<{ planned: Planned[]; unplanned: Unplanned[] }> {
    const planned: Planned[] = [];
    const unplanned: Unplanned[] = [];
    for (const { group, kind } of kinds) {
      const planner = plannerOf({ group, kind });
      if (planner === undefined) continue;
      for (const stored of objects.get(kind) ?? []) {
        const object = `${kind} ${keyOf(refOfObject(stored))}`;
        try {
          const request = { access: this.#access, subject: { stored }, gates, host: this.#call.host };
          planned.push(plannedOf(object, stored, await planner.forecast(request)));
        } catch (error) {
          this.#call.io.signal.throwIfAborted();
          unplanned.push({ object, error: describeError(error).replace(/^error: /, "") });
        }
      }
    }
    return { planned, unplanned };
  }

  async definitions(): Promise<Definition[]> {
    const groups = new Set(kinds.map(({ group }) => group));
    return (await this.list("apiextensions.k8s.io", "CustomResourceDefinition"))
      .filter((definition) => groups.has(textAt(definition, "spec", "group") ?? ""))
      .map((definition) => ({
        name: definition.metadata.name ?? "",
        served: listAt(definition, "spec", "versions")
          .filter((version) => at(version, "served") === true)
          .flatMap((version) => textAt(version, "name") ?? []),
        stored: listAt(definition, "status", "storedVersions").filter(
          (version) => typeof version === "string",
        ),
      }));
  }

  /** Where new pods are shown to the former manager. */
  async servedNamespaces(): Promise<LabelSelector | undefined> {
    const configurations = await this.list("admissionregistration.k8s.io", "MutatingWebhookConfiguration");
    const webhooks = configurations
      .filter(({ metadata: { name = "" } }) => name.startsWith("kruise-"))
      .flatMap((configuration) => listAt(configuration, "webhooks"));
    const webhook = webhooks.find((one) => textAt(one, "name") === "mpod.kb.io");
    return webhook === undefined ? undefined : selectorAt(webhook, "namespaceSelector");
  }

  async webhooks(): Promise<Webhooks[]> {
    const found: Webhooks[] = [];
    for (const kind of ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]) {
      for (const object of await this.list("admissionregistration.k8s.io", kind)) {
        const name = object.metadata.name ?? "";
        if (name.startsWith("kruise-"))
          found.push({ name, backends: [...new Set(listAt(object, "webhooks").map(backendOf))] });
      }
    }
    return found;
  }
}

function plannedOf(object: string, stored: AnyObject, forecast: Forecast): Planned {
  const { summary, actions } = forecast;
  const notice = givenUpNotice(object, stored, forecast);
  const revision = actions.find((action): action is OtherAction => action.type === "create revision");
  const seen = numberAt(stored, "status", "observedGeneration");
  // The former manager has made a revision of each generation that it has seen.
  const unrecognised =
    revision !== undefined && seen !== undefined && seen === numberAt(stored, "metadata", "generation");
  return {
    object,
    summary,
    touches: touchesOf(actions),
    ...(unrecognised ? { newRevision: revision.name } : {}),
    ...(notice === undefined ? {} : { notice }),
  };
}

function backendOf(webhook: unknown): string {
  const service = ["clientConfig", "service"];
  const name = textAt(webhook, ...service, "name");
  if (name === undefined) return originOf(textAt(webhook, "clientConfig", "url") ?? "");
  return `${textAt(webhook, ...service, "namespace") ?? ""}/${name}`;
}

/** Each webhook has a path of its own: who answers is the same. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url);

function workloadOf(object: AnyObject): Workload[] {
  const { kind } = object;
  if (kind !== "Deployment" && kind !== "DaemonSet") return [];
  const containers = listAt(object, "spec", "template", "spec", "containers");
  const flags = containers.flatMap((container) => listAt(container, "args"));
  const replicas =
    kind === "Deployment"
      ? (numberAt(object, "spec", "replicas") ?? 1)
      : (numberAt(object, "status", "desiredNumberScheduled") ?? 0);
  return [
    {
      kind,
      name: object.metadata.name ?? "",
      replicas,
      images: containers.flatMap((container) => textAt(container, "image") ?? []),
      flags: flags.filter((flag) => typeof flag === "string"),
      ours: runsRefit(object),
    },
  ];
}

const gatesFlag = "--feature-gates=";

/** As the manager's flags say them; plans are made with them. */
export function gatesText(flags: readonly string[]): string {
  return flags.findLast((flag) => flag.startsWith(gatesFlag))?.slice(gatesFlag.length) ?? "";
}

function gatesOf(manager: Workload | undefined): { text: string; gates: FeatureGates; error?: string } {
  const text = gatesText(manager?.flags ?? []);
  try {
    return { text, gates: parseFeatureGates(text) };
  } catch (error) {
    if (!(error instanceof FeatureGateError)) throw error;
    return { text, gates: parseFeatureGates(), error: error.message };
  }
}
