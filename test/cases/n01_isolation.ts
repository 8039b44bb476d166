import assert from "node:assert/strict";
import { ApiError, type Item } from "../cluster/api.ts";
import type { ControllerProcess } from "./controllers.ts";
import {
  copyOf,
  customSorts,
  evilImage,
  holdingFinalizer,
  type Impostor,
  impostorsOf,
  liveLabel,
  orphaned,
  plainSorts,
} from "./isolation_impostors.ts";
import { nextImage, ownerReferenceTo, type Side, type Subject, subjects } from "./isolation_subjects.ts";
import { volumes } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import { componentOf, type World } from "./world.ts";

/** What the attacked side and the other one are compared by, and where copies are made of. */
const dependants = [...plainSorts, ...customSorts, "events"];

/** What a new kind may make of others: as soon as one does, impostors of it belong among the sorts. */
const unattackedSorts = [
  "configmaps",
  "secrets",
  "services",
  "replicasets.v1.apps",
  "daemonsets.v1.apps",
  ...subjects.filter(({ isClusterScoped }) => !isClusterScoped).map(({ resource }) => resource),
].filter((resource) => !dependants.includes(resource));

/** Count on by themselves what they said before. */
const othersReports: readonly string[] = ["kubelet", "default-scheduler", "persistentvolume-controller"];

/**
 * A form in which impostors stand: nobody can delete them, or they are being deleted and somebody holds them, or they have
 * no owner and wait for one that adopts them.
 */
const forms = ["live", "held", "orphans"] as const;
type Form = (typeof forms)[number];

class Stage {
  readonly #world: World;
  readonly attacked: Side;
  readonly control: Side;

  constructor(world: World) {
    this.#world = world;
    this.attacked = { namespace: world.namespace };
    this.control = { namespace: `${world.namespace}-control` };
  }

  get sides(): readonly Side[] {
    return [this.attacked, this.control];
  }

  placeOf(form: Form): string {
    return `${this.#world.namespace}-${form}`;
  }

  async open(): Promise<void> {
    const { api } = this.#world;
    for (const name of [this.control.namespace, ...forms.map((form) => this.placeOf(form))])
      await api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await api.create(this.#shield());
  }

  /** Deletions of what is labelled are refused: a garbage collector tries for as long as this stands. */
  #shield(): object {
    return {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: this.#world.namespace },
      webhooks: [
        {
          name: "live.case.example",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          failurePolicy: "Fail",
          timeoutSeconds: 1,
          clientConfig: { url: "https://127.0.0.1:1/refused" },
          objectSelector: { matchLabels: { [liveLabel]: this.#world.namespace } },
          rules: [{ operations: ["DELETE"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }],
        },
      ],
    };
  }

  async close(): Promise<void> {
    const { api } = this.#world;
    await api.remove("validatingwebhookconfigurations", this.#world.namespace).catch(ignored);
    for (const subject of subjects.filter(({ isClusterScoped }) => isClusterScoped)) {
      for (const side of this.sides)
        if (subject.manifest(side) !== undefined)
          await api.remove(subject.resource, subject.nameOn(side)).catch(ignored);
    }
    for (const form of forms) {
      const namespace = this.placeOf(form);
      for (const resource of [...plainSorts, ...customSorts]) {
        for (const { metadata } of await api.list(resource, namespace)) {
          const body = { metadata: { finalizers: null } };
          await api.patch(resource, metadata.name, namespace, "merge", body).catch(ignored);
        }
      }
      await api.remove("namespaces", namespace).catch(ignored);
    }
    await api.remove("namespaces", this.control.namespace).catch(ignored);
  }

  /** The subject as it stands; of kinds that the program makes objects of, the first one. */
  async find(subject: Subject, side: Side): Promise<Item | undefined> {
    const { api } = this.#world;
    if (subject.manifest(side) !== undefined)
      return api.find(subject.resource, subject.nameOn(side), side.namespace);
    const [first] = await api.list(subject.resource);
    return first && api.find(subject.resource, first.metadata.name);
  }

  /** Objects that a subject owns and of whose sort there are no impostors. */
  async unattacked(side: Side): Promise<string[]> {
    const { api } = this.#world;
    const items = await Promise.all(subjects.map((subject) => this.find(subject, side)));
    const owners = new Set(items.map((item) => item?.metadata.uid));
    const found: string[] = [];
    for (const resource of unattackedSorts) {
      for (const { metadata } of await api.list(resource, side.namespace))
        if (metadata.ownerReferences?.some(({ uid }) => owners.has(uid)))
          found.push(`${resource}/${metadata.name}`);
    }
    return found;
  }

  /** Everything that could tell of a reaction: versions of what stands in the namespace, and of the subjects. */
  async versions(side: Side): Promise<Record<string, string>> {
    const { api } = this.#world;
    const seen: Record<string, string> = {};
    for (const subject of subjects) {
      const item = await this.find(subject, side);
      // Agents report what they do on a node: of those objects what the controller writes is looked at.
      seen[subject.kind] =
        subject.manifest(side) === undefined
          ? JSON.stringify(item?.spec)
          : `${item?.metadata.uid} ${item?.metadata.resourceVersion}`;
    }
    for (const resource of dependants) {
      const items = await api.list(resource, side.namespace);
      for (const { metadata } of items.filter((item) => !othersReports.includes(componentOf(item))))
        seen[`${resource}/${metadata.name}`] = `${metadata.uid} ${metadata.resourceVersion}`;
    }
    return seen;
  }

  /** The objects of a side as text that is equal for equal worlds: without names, times and versions of its own. */
  async account(side: Side): Promise<unknown> {
    const { api } = this.#world;
    const plain = (value: unknown): unknown =>
      JSON.parse(
        JSON.stringify(value ?? null)
          .replaceAll(side.namespace, "SIDE")
          .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
          .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|:\/\/[0-9a-f]{64}/g, "UID")
          .replaceAll(/"(resourceVersion|message|nodeName|kubernetes.io\/hostname)":"[^"]*"/g, '"$1":""'),
      );
    const statuses: Record<string, unknown> = {};
    for (const subject of subjects) {
      if (subject.manifest(side) === undefined) continue;
      statuses[subject.kind] = plain(withoutMoments((await this.find(subject, side))?.status));
    }
    const pods = await api.list("pods", side.namespace);
    const revisions = await api.list("controllerrevisions", side.namespace);
    const count = async (resource: string) => (await api.list(resource, side.namespace)).length;
    const counts: Record<string, number> = {};
    for (const resource of [...plainSorts, ...customSorts]) counts[resource] = await count(resource);
    return {
      statuses,
      counts,
      pods: pods.map(podLine).sort(),
      revisions: revisions.map(({ revision, data }) => JSON.stringify([revision, plain(data)])).sort(),
    };
  }
}

/** All pods go at once in the last step: whether a job happens to look while there are none is told for ever after. */
function withoutMoments(status: Item["status"]): Item["status"] {
  const conditions = status?.conditions?.filter(({ type }) => type !== "MatchedEmpty");
  return conditions === undefined ? status : { ...status, conditions };
}

function podLine({ metadata, spec, status }: Item): string {
  const [owner] = metadata.ownerReferences ?? [];
  const images = (spec?.containers ?? []).map(({ image }) => image).join();
  const isReady = status?.conditions?.find(({ type }) => type === "Ready")?.status;
  return `${owner?.kind} ${images} ${status?.phase} ${isReady}`;
}

function ignored(error: unknown): void {
  if (!(error instanceof ApiError)) throw error;
}

/** Makes impostors of these sorts for every subject, in all forms. */
async function attack(world: World, stage: Stage, sorts: readonly string[]): Promise<number> {
  const made: (() => Promise<void>)[] = [];
  for (const subject of subjects) {
    const item = await stage.find(subject, stage.attacked);
    if (item === undefined) continue;
    const owner = ownerReferenceTo(item);
    for (const sort of sorts) {
      const there = await world.api.list(sort, stage.attacked.namespace);
      const own = there.filter(({ metadata }) =>
        metadata.ownerReferences?.some(({ uid }) => uid === item.metadata.uid),
      );
      const labels: object = own[0]?.metadata.labels ?? Object(item.spec?.["selector"]).matchLabels ?? {};
      const impostors = [
        ...own.map((one) => copyOf(sort, one, owner)),
        ...impostorsOf(sort, item, owner, labels),
      ];
      for (const form of forms)
        for (const impostor of impostors)
          made.push(() => place(world, stage, form === "orphans" ? orphaned(impostor) : impostor, form));
    }
  }
  for (let at = 0; at < made.length; at += 8)
    await Promise.all(made.slice(at, at + 8).map((create) => create()));
  return made.length;
}

async function place(
  world: World,
  stage: Stage,
  { resource, manifest }: Impostor,
  form: Form,
): Promise<void> {
  const { api } = world;
  const namespace = stage.placeOf(form);
  const { metadata } = manifest;
  const labels = form === "live" ? { ...metadata.labels, [liveLabel]: world.namespace } : metadata.labels;
  const finalizers = form === "held" ? [holdingFinalizer] : [];
  const { name } = metadata;
  try {
    await api.create({ ...manifest, metadata: { ...metadata, labels, finalizers } }, namespace);
    if (form === "held") await api.remove(resource, name, namespace, { gracePeriodSeconds: 0 });
    // A pod that has failed is what ends a job.
    else if (resource === "pods" && name.endsWith("-evil"))
      await api.patch("pods", name, namespace, "merge", { status: { phase: "Failed" } }, "status");
  } catch (error) {
    // A collector may have been faster.
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
}

const requestLine = /^refit_client_requests_total\{(.*)\} (\d+)$/;

/** Writes of the controller so far, by resource; leases are renewed all the time. */
async function writesOf(controller: ControllerProcess): Promise<Record<string, number>> {
  const writes: Record<string, number> = {};
  for (const line of (await controller.metrics()).split("\n")) {
    const [, labels = "", count = "0"] = requestLine.exec(line) ?? [];
    const [verb = "", resource = ""] = ["verb", "resource"].map(
      (name) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? "",
    );
    if (!["POST", "PUT", "PATCH", "DELETE"].includes(verb) || resource.startsWith("leases")) continue;
    const key = `${verb} ${resource}`;
    writes[key] = (writes[key] ?? 0) + Number(count);
  }
  return writes;
}

async function untilQuiet(world: World, stage: Stage): Promise<void> {
  let before = "";
  const probe = async () => {
    const seen = JSON.stringify(await Promise.all(stage.sides.map((side) => stage.versions(side))));
    const isSame = seen === before;
    before = seen;
    assert.ok(isSame, "something changed");
  };
  await world.until("nothing changes", probe, {
    timeoutMs: 180_000,
    stableMs: world.simulated ? 2_500 : 12_000,
  });
}

/** The same is done on both sides: what is deleted comes back, what is wanted changes, what is due runs. */
async function act(world: World, side: Side): Promise<void> {
  const { api } = world;
  const { namespace } = side;
  const cron = "advancedcronjobs.v1beta1.apps.kruise.io";
  const lastScheduleTime = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+Z$/, "Z");
  for (const subject of subjects) {
    if (subject.manifest(side) === undefined) continue;
    const name = subject.nameOn(side);
    const body = { metadata: { annotations: { "case.example/again": "true" } } };
    await api.patch(subject.resource, name, namespace, "merge", body).catch(ignored);
    if (subject.resource === cron)
      await api.patch(cron, name, namespace, "merge", { status: { lastScheduleTime } }, "status");
  }
  for (const resource of ["imagepulljobs.v1beta1.apps.kruise.io", "pods"]) {
    for (const { metadata } of await api.list(resource, namespace)) {
      // What a job of the list made, it makes again.
      if (resource === "pods" || metadata.ownerReferences !== undefined)
        await api.remove(resource, metadata.name, namespace, { gracePeriodSeconds: 0 }).catch(ignored);
    }
  }
  for (const resource of ["clonesets", "statefulsets", "uniteddeployments"]) {
    for (const { metadata, spec } of await api.list(resource, namespace)) {
      if (metadata.ownerReferences !== undefined) continue;
      const body = { spec: { replicas: (spec?.replicas ?? 0) + 1 } };
      await api.patch(resource, metadata.name, namespace, "merge", body);
    }
  }
}

export const suite: Suite = {
  number: "n01",
  title: "No object of another namespace changes what happens, whatever it claims of its owner",
  needs: ["own-controller"],
  gates:
    "ImagePullJobGate=true,ResourceDistributionGate=true,PreDownloadImageForInPlaceUpdate=true,PreDownloadImageForDaemonSetUpdate=true",
  versions: ["v1beta1"],
  async run(world) {
    const { api } = world;
    const stage = new Stage(world);
    const controller = await world.startController({ gates: suite.gates ?? "" });
    try {
      await stage.open();
      await world.step("1 one object of every kind of the list, twice", async () => {
        for (const side of stage.sides) await world.applyVolumes(volumes(side.namespace, side.namespace, 24));
        // What decides about new objects has been seen before there are any.
        for (const isClusterScoped of [true, false]) {
          const wave = subjects.filter((subject) => subject.isClusterScoped === isClusterScoped);
          for (const side of stage.sides) for (const subject of wave) await create(world, subject, side);
          await untilQuiet(world, stage);
        }
        for (const side of stage.sides) await beginRollouts(world, side);
        await untilQuiet(world, stage);
        assert.deepEqual(await stage.account(stage.attacked), await stage.account(stage.control));
        for (const subject of subjects) assert.ok(await stage.find(subject, stage.attacked), subject.kind);
        assert.deepEqual(await stage.unattacked(stage.attacked), []);
      });
      const before = await stage.versions(stage.attacked);
      await world.step("2 what names them as owners elsewhere is no reason to write", async () => {
        const writes = await writesOf(controller);
        assert.ok(Object.keys(writes).length > 3, "writes are counted");
        assert.ok((await attack(world, stage, plainSorts)) > 2 * subjects.length * plainSorts.length);
        await world.stays(async () => {
          assert.deepEqual(await stage.versions(stage.attacked), before);
          assert.deepEqual(await writesOf(controller), writes);
        });
      });
      await world.step("3 nor are objects of the program's own kinds", async () => {
        // They are at work themselves, as anybody's, and delete nothing.
        const deletions = async () =>
          Object.entries(await writesOf(controller)).filter(([write]) => write.startsWith("DELETE "));
        const deleted = await deletions();
        await attack(world, stage, customSorts);
        await world.stays(async () => {
          assert.deepEqual(await stage.versions(stage.attacked), before);
          assert.deepEqual(await deletions(), deleted);
        });
      });
      await world.step("4 they stand in all forms while both sides live on alike", async () => {
        for (const form of forms) {
          const claims = await Promise.all(plainSorts.map((sort) => api.list(sort, stage.placeOf(form))));
          assert.deepEqual(
            claims.map((items) => items.length >= subjects.length),
            plainSorts.map(() => true),
            form,
          );
        }
        const pullJobs = "DELETE imagepulljobs";
        const { [pullJobs]: deleted } = await writesOf(controller);
        await Promise.all(stage.sides.map((side) => act(world, side)));
        const alike = async () => {
          assert.deepEqual(await stage.account(stage.attacked), await stage.account(stage.control));
          for (const { metadata, spec } of await api.list("pods", stage.attacked.namespace))
            for (const { image } of spec?.containers ?? []) assert.notEqual(image, evilImage, metadata.name);
          const jobs = await api.list("jobs.v1.batch", stage.attacked.namespace);
          assert.ok(jobs.length > 0, "the cron job ran");
          // Workloads at rest delete what pulled ahead for them: by a name, which nothing here may have.
          assert.equal((await writesOf(controller))[pullJobs], deleted);
        };
        await world.until("equal worlds", alike, {
          timeoutMs: 120_000,
          stableMs: world.simulated ? 3_000 : 15_000,
        });
      });
    } finally {
      await stage.close();
    }
  },
};

async function create(world: World, subject: Subject, side: Side): Promise<void> {
  const manifest = subject.manifest(side);
  if (manifest === undefined) return;
  const attempt = async () => {
    await world.api.create(manifest, side.namespace).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
    });
  };
  // Some need what others make first.
  await world.once(`${subject.kind} is made`, attempt);
}

/** From here on the revision that pods come back at is not the one of the template. */
async function beginRollouts(world: World, { namespace }: Side): Promise<void> {
  const body = [{ op: "replace", path: "/spec/template/spec/containers/0/image", value: nextImage }];
  for (const resource of ["clonesets", "statefulsets"]) {
    for (const { metadata } of await world.api.list(resource, namespace)) {
      if (metadata.ownerReferences === undefined)
        await world.api.patch(resource, metadata.name, namespace, "json", body);
    }
  }
}
