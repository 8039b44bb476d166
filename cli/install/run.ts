import { kinds } from "../../controller/index.ts";
import { keyOf } from "../../kube/core/index.ts";
import { ignoreNotFound } from "../../kube/index.ts";
import type { Flags } from "../arguments.ts";
import type { Call, ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import type { AnyObject } from "../fields.ts";
import { objectName, objectResource, type ResourceType } from "../resource_types.ts";
import { textTable } from "../text_table.ts";
import { type AgentInstall, agentPort } from "./agent.ts";
import { applyObject, builtinType, refOfObject, waitEstablished } from "./apply.ts";
import { type ControllerInstall, controllerPorts } from "./controller_deployment.ts";
import { definitions, type InstallOptions, installObjects, installReasons } from "./manifests.ts";
import { peopleRoles } from "./people.ts";
import { explainedYaml } from "./reasons.ts";
import { usualServerPorts } from "./safeguards.ts";
import { waitUntilGone } from "./terminating.ts";

/** Of the flags of `installFlags`. Throws CliError for values that cannot be. */
export function installOptionsOf(call: Call): InstallOptions {
  return {
    namespace: call.flags.required("controller-namespace"),
    webhookHost: call.flags.text("webhook-host"),
    webhookPort: call.flags.integer("webhook-port", 1, 65_535) ?? 9876,
    guardsDefinitions: call.flags.on("guard-definitions"),
    distributesResources: call.flags.on("distribute-resources"),
    controller: controllerOf(call),
    agent: agentOf(call),
  };
}

function controllerOf({ flags }: Call): ControllerInstall | undefined {
  const image = flags.text("controller-image");
  if (image === undefined) return undefined;
  if (flags.text("webhook-host") !== undefined) {
    throw new CliError(
      "--controller-image runs the controller in the cluster, --webhook-host outside of it: give one of them",
    );
  }
  const replicas = flags.integer("controller-replicas", 1, 64) ?? 2;
  return {
    image,
    replicas,
    flags: flags.all("controller-flag"),
    serverPorts: serverPortsOf(flags),
    ports: controllerPorts,
  };
}

function serverPortsOf(flags: Flags): readonly number[] {
  const given = flags.all("api-server-port");
  for (const text of given) {
    if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535)
      throw new CliError(`invalid value "${text}" for --api-server-port: must be a port from 1 to 65535`);
  }
  return given.length === 0 ? usualServerPorts : given.map(Number);
}

function agentOf({ flags }: Call): AgentInstall | undefined {
  const image = flags.text("agent-image");
  if (image === undefined) return undefined;
  const runtime = flags.required("agent-runtime");
  if (runtime !== "node" && runtime !== "deno") {
    throw new CliError(`invalid value "${runtime}" for --agent-runtime: must be node or deno`);
  }
  const socketFolder = flags.required("agent-socket-folder");
  return { image, runtime, socketFolder, port: agentPort, flags: flags.all("agent-flag") };
}

/** Everything that an installation may have made, whatever its options were. */
export function everyInstalledObject(namespace: string): AnyObject[] {
  const agent: AgentInstall = { image: "", runtime: "node", socketFolder: "", port: 0, flags: [] };
  const controller: ControllerInstall = {
    image: "",
    replicas: 1,
    flags: [],
    serverPorts: [],
    ports: controllerPorts,
  };
  return installObjects({
    namespace,
    webhookHost: undefined,
    webhookPort: 9876,
    guardsDefinitions: true,
    distributesResources: true,
    controller,
    agent,
  });
}

export async function runInstall(call: Call): Promise<number> {
  await applyInstallation(call, await call.cluster(), installOptionsOf(call));
  return 0;
}

/** Applies all objects, prints what happened to each, and waits until the definitions are established. */
export async function applyInstallation(
  call: Call,
  access: ClusterAccess,
  options: InstallOptions,
): Promise<void> {
  const objects = installObjects(options);
  const { host, io } = call;
  await waitUntilGone(objects, { client: access.client, host, signal: io.signal, report: call.warn });
  for (const object of objects) {
    call.print(await applyObject(access.client, builtinType(object), object));
  }
  await waitEstablished(access, definitions(options), call.host, call.io.signal);
  call.print(`${definitions(options).length} definitions established`);
}

export async function runManifests(call: Call): Promise<number> {
  const objects = call.flags.on("roles") ? peopleRoles() : installObjects(installOptionsOf(call));
  for (const object of objects) {
    call.io.stdout.write(`---\n${explainedYaml(object, installReasons)}`);
  }
  return 0;
}

export async function runUninstall(call: Call): Promise<number> {
  const access = await call.cluster();
  await refuseWhileUsed(call, access);
  if (call.flags.on("check")) {
    call.print(cleanText);
    return 0;
  }
  // Webhooks first: without a controller behind them they would block what follows.
  for (const object of everyInstalledObject(call.flags.required("controller-namespace")).reverse()) {
    const type = builtinType(object);
    const found = await access.client.get(objectResource(type), refOfObject(object)).catch(ignoreNotFound);
    if (found === undefined) continue;
    await access.client.delete(objectResource(type), refOfObject(object)).catch(ignoreNotFound);
    call.print(`${objectName(type, refOfObject(object).name)} deleted`);
  }
  return 0;
}

interface UsedKind {
  readonly resource: Pick<ResourceType, "plural" | "group">;
  /** The first of its objects; of a further one a mark only. */
  readonly objects: readonly string[];
}

const mostNamed = 3;

/** Throws CliError while objects are left. A check also prints which, as a table. */
async function refuseWhileUsed(call: Call, access: ClusterAccess): Promise<void> {
  const used = await usedKinds(access);
  if (call.flags.on("check") && used.length > 0)
    for (const line of textTable(["IN THE WAY", "OBJECTS"], used.map(rowOf))) call.print(line);
  const refusal = refusalOf(used);
  if (refusal !== undefined) throw new CliError(refusal);
}

/** What `uninstall --check` says. */
export async function uninstallCheck(access: ClusterAccess): Promise<{ isClean: boolean; said: string }> {
  const refusal = refusalOf(await usedKinds(access));
  return { isClean: refusal === undefined, said: refusal ?? cleanText };
}

const cleanText = "cluster is clean, ready to delete kruise";

function refusalOf(used: readonly UsedKind[]): string | undefined {
  if (used.length === 0) return undefined;
  const objects = used.map(({ resource }) => `some ${resource.plural}`).join(" and ");
  const resources = used.map(resourceName).join(",");
  return `there still exists ${objects} in the cluster; delete them first: "kubectl delete ${resources} --all --all-namespaces --cascade=orphan" leaves their pods, without that option they go, too`;
}

const resourceName = ({ resource: { plural, group } }: UsedKind): string => `${plural}.${group}`;
const rowOf = (used: UsedKind): string[] => [resourceName(used), used.objects.join(", ")];

async function usedKinds(access: ClusterAccess): Promise<UsedKind[]> {
  const used: UsedKind[] = [];
  for (const { resource, perNode } of kinds) {
    if (perNode) continue;
    const type = await access.types.findKind(resource.group, resource.kind);
    const objects = type === undefined ? [] : await firstObjects(access, type);
    if (objects.length > 0) used.push({ resource, objects });
  }
  return used;
}

async function firstObjects({ client }: ClusterAccess, type: ResourceType): Promise<string[]> {
  const list = await client.list(objectResource(type), { limit: mostNamed + 1 }).catch(ignoreNotFound);
  const names = (list?.items ?? []).map((object) => keyOf(refOfObject(object)));
  return names.length > mostNamed ? [...names.slice(0, mostNamed), "…"] : names;
}
