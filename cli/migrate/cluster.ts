/** Carries out a takeover or the way back, step by step; plan.ts says which step comes next. */
import { counted } from "../../kube/core/index.ts";
import {
  ignoreNotFound,
  isKubeError,
  type JsonPatchOperation,
  listAll,
  type Patch,
} from "../../kube/index.ts";
import type { Call, ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import { featureGates } from "../feature_gates.ts";
import { type AnyObject, listAt, numberAt, textAt } from "../fields.ts";
import { builtinType, refOfObject } from "../install/apply.ts";
import type { InstallOptions } from "../install/index.ts";
import { applyInstallation, everyInstalledObject, installOptionsOf } from "../install/run.ts";
import { objectName, objectResource } from "../resource_types.ts";
import { fieldManager, pointer } from "../write.ts";
import { printObstacles } from "./check.ts";
import { findingsOf } from "./findings.ts";
import { nextOfReturn, nextOfTakeover, type Step } from "./plan.ts";
import { putBack } from "./put_back.ts";
import { agentName, gatesText, managerName, readFacts } from "./read_facts.ts";
import { forgetRecord, type MigrationRecord, setPhase, withoutServerFields, writeRecord } from "./record.ts";
import {
  daemonSetType,
  definitionType,
  deploymentType,
  type Observed,
  observe,
  outlivedVersions,
} from "./state.ts";

const pollMs = 500;
/** A replica of the API server that has not seen a definition's change yet would store in the version from before. */
const definitionSeenMs = 2_000;

export async function runMigrateCluster(call: Call): Promise<number> {
  const access = await call.cluster();
  return new Migration(call, access).run();
}

class Migration {
  readonly #call: Call;
  readonly #access: ClusterAccess;
  readonly #namespace: string;
  readonly #back: boolean;
  #waitsUntil: number | undefined;
  /** When this run stopped the manager: from then on nobody answers webhooks. */
  #stoppedAt: number | undefined;

  constructor(call: Call, access: ClusterAccess) {
    this.#call = call;
    this.#access = access;
    this.#namespace = call.flags.required("controller-namespace");
    this.#back = call.flags.on("back");
    if (!this.#back && !call.flags.given("controller-image") && !call.flags.given("webhook-host"))
      throw new CliError(
        "name what takes over: --controller-image IMAGE, or --webhook-host HOST for one outside",
      );
  }

  async run(): Promise<number> {
    const options = { replacesAgents: this.#call.flags.given("agent-image") };
    for (;;) {
      const observed = await observe(this.#place);
      const { state } = observed;
      const next = this.#back ? nextOfReturn(state) : nextOfTakeover(state, options);
      if (next === undefined) break;
      if (typeof next !== "string") throw new CliError(next.refused);
      if (next === "record what is there") await this.#check();
      await this.#execute(next, observed);
    }
    this.#printGap();
    this.#call.print(this.#back ? "OpenKruise's manager is back." : "Refit leads and answers webhooks.");
    return 0;
  }

  #printGap(): void {
    if (this.#stoppedAt === undefined) return;
    const ms = this.#call.host.clock.monotonic() - this.#stoppedAt;
    this.#call.print(`Nobody answered webhooks for ${(ms / 1000).toFixed(1)} s.`);
  }

  get #place() {
    return { client: this.#access.client, namespace: this.#namespace, host: this.#call.host };
  }

  async #execute(step: Step, observed: Observed): Promise<void> {
    if (step.startsWith("wait")) return this.#wait(step, observed);
    this.#waitsUntil = undefined;
    this.#call.print(`${step}:`);
    await this.#steps(observed)[step]();
  }

  #steps({ record }: Observed): Readonly<Record<Step, () => Promise<void>>> {
    return {
      "record what is there": () => this.#record(),
      "turn round": () => setPhase(this.#place, "recorded"),
      "stop the manager": () => this.#stop(),
      "wait until the manager is gone": async () => undefined,
      "remove the manager": () => this.#remove(deploymentType, managerName),
      "remove the agents": () => this.#remove(daemonSetType, agentName),
      install: () => this.#install(record),
      "wait until it leads": async () => undefined,
      "begin to go back": () => setPhase(this.#place, "returning"),
      "store in former versions": () => this.#storeInFormerVersions(record),
      "put back what was there": () => this.#putBack(record),
      "forget the record": () => forgetRecord(this.#place),
    };
  }

  /** Throws CliError when the wait has lasted for as long as --wait says. */
  async #wait(step: Step, { state, leaseHolder }: Observed): Promise<void> {
    const { host, io, flags } = this.#call;
    const now = host.clock.monotonic();
    const reason =
      step === "wait until it leads"
        ? "the new controller does not lead and answer webhooks yet"
        : state.managerPods > 0
          ? `${state.managerPods} pods of the manager are left`
          : `${leaseHolder} holds the Lease`;
    if (this.#waitsUntil === undefined) {
      this.#waitsUntil = now + (flags.milliseconds("wait") ?? 0);
      this.#call.print(`${step}: ${reason}`);
    }
    if (now >= this.#waitsUntil)
      throw new CliError(`gave up waiting: ${reason}; nothing is lost: run the same command again`);
    await host.clock.sleep(pollMs, io.signal);
  }

  /** Before anything is changed; a run that continues an earlier one has passed it. Throws CliError when something is in the way. */
  async #check(): Promise<void> {
    const obstacles = printObstacles(this.#call, findingsOf(await readFacts(this.#call, this.#access)));
    if (obstacles.length === 0 || this.#call.flags.on("force")) return;
    throw new CliError(
      `${counted(obstacles.length, "obstacle")}, and nothing was changed: "refit migrate check" shows all that was found; --force takes over anyway`,
    );
  }

  async #record(): Promise<void> {
    const { client } = this.#access;
    const objects: AnyObject[] = [];
    for (const object of everyInstalledObject(this.#namespace)) {
      if (object.kind === "Namespace" || object.kind === "Secret") continue;
      const type = objectResource(builtinType(object));
      const live = await client.get(type, refOfObject(object)).catch(ignoreNotFound);
      if (live !== undefined)
        objects.push({ ...live, apiVersion: object.apiVersion ?? "", kind: object.kind ?? "" });
    }
    await writeRecord(this.#place, objects);
    this.#call.print(`  ${objects.length} objects are in ConfigMaps refit-migration* of ${this.#namespace}`);
  }

  async #stop(): Promise<void> {
    const ref = { namespace: this.#namespace, name: managerName };
    const patch = { type: "merge", body: { spec: { replicas: 0 } } } as const;
    await this.#access.client.patch(objectResource(deploymentType), ref, patch, { fieldManager });
    this.#stoppedAt = this.#call.host.clock.monotonic();
    this.#call.print(`  ${objectName(deploymentType, managerName)} scaled to 0`);
  }

  async #remove(type: typeof deploymentType, name: string): Promise<void> {
    const ref = { namespace: this.#namespace, name };
    const options = { propagationPolicy: "Background" } as const;
    await this.#access.client.delete(objectResource(type), ref, options).catch(ignoreNotFound);
    this.#call.print(`  ${objectName(type, name)} deleted`);
  }

  async #install(record: MigrationRecord | undefined): Promise<void> {
    const options = this.#optionsAsBefore(record);
    await applyInstallation(this.#call, this.#access, options);
    await setPhase(this.#place, "installed");
  }

  /** Gates, the rights that they need, and replicas are those of the former manager unless flags say otherwise. */
  #optionsAsBefore(record: MigrationRecord | undefined): InstallOptions {
    const options = installOptionsOf(this.#call);
    const { controller } = options;
    const former = record?.objects.find(({ kind }) => kind === "Deployment");
    const flags = listAt(former, "spec", "template", "spec", "containers")
      .flatMap((container) => listAt(container, "args"))
      .filter((flag) => typeof flag === "string");
    const own = controller?.flags ?? [];
    const text = gatesText(own) || gatesText(flags);
    const gates = featureGates(
      text,
      (problem) => `gates of the former manager: ${problem}; name others by --controller-flag`,
    );
    const replicas = this.#call.flags.given("controller-replicas")
      ? undefined
      : numberAt(former, "spec", "replicas");
    return {
      ...options,
      guardsDefinitions: options.guardsDefinitions === true || gates.DeletionProtectionForCRDCascadingGate,
      distributesResources: options.distributesResources === true || gates.ResourceDistributionGate,
      controller: controller && {
        ...controller,
        replicas: Math.max(1, replicas ?? controller.replicas),
        flags: gatesText(own) === text ? own : [`--feature-gates=${text}`, ...own],
      },
    };
  }

  /**
   * As a storage version migration does: an update that changes nothing is stored in the version of the day. Of the status,
   * since admission is not asked about that: it may refuse objects of kinds whose gate is off.
   */
  async #storeInFormerVersions(record: MigrationRecord | undefined): Promise<void> {
    const outlived = await outlivedVersions(this.#access.client, record);
    for (const { live, storage } of outlived) {
      const body: JsonPatchOperation[] = listAt(live, "spec", "versions").map((version, index) => ({
        op: "add",
        path: pointer(["spec", "versions", index, "storage"]),
        value: textAt(version, "name") === storage,
      }));
      await this.#patchDefinition(live, { type: "json", body });
    }
    await this.#call.host.clock.sleep(definitionSeenMs, this.#call.io.signal);
    for (const { live, storage } of outlived) {
      const count = await this.#storeAgain(
        textAt(live, "spec", "group"),
        textAt(live, "spec", "names", "kind"),
      );
      const body = { status: { storedVersions: [storage] } };
      await this.#patchDefinition(live, { type: "merge", body }, "status");
      this.#call.print(`  ${live.metadata.name ?? ""}: ${counted(count, "object")} stored as ${storage}`);
    }
  }

  async #patchDefinition({ metadata }: AnyObject, patch: Patch, subresource?: string): Promise<void> {
    const ref = { name: metadata.name ?? "" };
    const options = { fieldManager, ...(subresource === undefined ? {} : { subresource }) };
    await this.#access.client.patch(objectResource(definitionType), ref, patch, options);
  }

  /** Resolves to the number of objects. */
  async #storeAgain(group = "", kind = ""): Promise<number> {
    const { client, types } = this.#access;
    const type = await types.findKind(group, kind);
    if (type === undefined) return 0;
    const objects = await listAll(client, objectResource(type));
    for (const object of objects) {
      const patch = { type: "merge", body: {} } as const;
      const options = { fieldManager, subresource: "status" };
      await client.patch(objectResource(type), refOfObject(object), patch, options).catch(ignoreNotFound);
    }
    return objects.length;
  }

  /** Definitions first, the manager last: it works with all that the others are. */
  async #putBack(record: MigrationRecord | undefined): Promise<void> {
    const recorded = record?.objects ?? [];
    const known = new Set(recorded.map(keyOf));
    for (const object of everyInstalledObject(this.#namespace).reverse()) {
      if (known.has(keyOf(object)) || isKept(object)) continue;
      const type = builtinType(object);
      const ref = refOfObject(object);
      try {
        await this.#access.client.delete(objectResource(type), ref);
        this.#call.print(`  ${objectName(type, ref.name)} deleted`);
      } catch (error) {
        if (!isKubeError(error, "NotFound")) throw error;
      }
    }
    const rank = ({ kind = "" }: AnyObject): number => ranks.get(kind) ?? 1;
    for (const object of recorded.toSorted((a, b) => rank(a) - rank(b)))
      this.#call.print(`  ${await putBack(this.#access.client, withoutServerFields(object))}`);
  }
}

const ranks: ReadonlyMap<string, number> = new Map([
  ["CustomResourceDefinition", 0],
  ["DaemonSet", 2],
  ["Deployment", 3],
]);

/** With a definition its objects would go, with the namespace the record; certificates serve either manager. */
function isKept({ kind = "" }: AnyObject): boolean {
  return ["CustomResourceDefinition", "Namespace", "Secret"].includes(kind);
}

function keyOf({ kind = "", metadata: { namespace = "", name = "" } }: AnyObject): string {
  return `${kind} ${namespace}/${name}`;
}
