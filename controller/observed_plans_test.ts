/**
 * What a controller plans from caches that it follows, with indexes that it keeps, is what anybody plans from lists that were read
 * once: whatever happened before, and whoever else claims the pods, claims and revisions.
 */
import t from "tap";
import { Cache, formatSelector, type Pod, parseSelector, seededRandom, sidesOf } from "../kube/index.ts";
import * as broadcastJobs from "../testkit/controller/broadcast_job_model.ts";
import * as cloneSets from "../testkit/controller/clone_set_model.ts";
import * as daemonSets from "../testkit/controller/daemon_set_model.ts";
import { ObservedWorld } from "../testkit/controller/observed_world_model.ts";
import { injectedPod, sidecarSetOf } from "../testkit/controller/sidecar_set_model.ts";
import * as statefulSets from "../testkit/controller/stateful_set_model.ts";
import { randomOf } from "../testkit/controller/workload_history.ts";
import type { TaskIndex } from "./kinds/broadcast_job/classify.ts";
import { broadcastJobState, observeBroadcastJob, planBroadcastJob } from "./kinds/broadcast_job/index.ts";
import type { CloneIndex } from "./kinds/clone_set/classify.ts";
import { cloneSetState, observeCloneSet, planCloneSet } from "./kinds/clone_set/index.ts";
import type { DaemonIndex } from "./kinds/daemon_set/classify.ts";
import { daemonSetState, observeDaemonSet, planDaemonSet } from "./kinds/daemon_set/index.ts";
import type { SidecarIndex } from "./kinds/sidecar_set/classify.ts";
import {
  observeSidecarSet,
  planSidecarSet,
  selectedIndex,
  sidecarSetState,
} from "./kinds/sidecar_set/index.ts";
import type { SidecarSetReader } from "./kinds/sidecar_set/observe.ts";
import type { SetIndex } from "./kinds/stateful_set/classify.ts";
import { observeStatefulSet, planStatefulSet, statefulSetState } from "./kinds/stateful_set/index.ts";
import { setIndexes } from "./kinds/stateful_set/reconcile.ts";
import { ownerKeyOf } from "./plan/owners.ts";
import { type ClusterReader, type ControllerState, justStarted } from "./rollout/cluster_reader.ts";
import { PodIndexes } from "./rollout/pods/pod_indexes.ts";
import type { Action } from "./rollout/writes/actions.ts";
import { listedCluster } from "./runtime/listed_cluster.ts";

interface Planned {
  readonly actions: readonly Action[];
}

/** The two plans of one kind in one world. */
interface Planners {
  readonly kind: string;
  /** From the caches, with what is kept from pass to pass. */
  followed(): Planned;
  /** From lists, with nothing that is kept. */
  listed(): Planned;
}

const history = { histories: 60, steps: 40 };

function checked(
  kind: string,
  plannersIn: (world: ObservedWorld) => Omit<Planners, "kind">,
  isOfCluster = false,
) {
  t.test(`${kind}: the plan from caches is the plan from lists`, async (t) => {
    const seen = { actions: 0, own: 0 };
    for (let seed = 1; seed <= history.histories; seed++) {
      const random = randomOf(seed);
      const owner = isOfCluster ? { kind, name: "app" } : { kind, name: "app", namespace: "default" };
      const world = new ObservedWorld(owner, random);
      const planners = plannersIn(world);
      for (let step = 0; step < history.steps; step++) {
        world.step();
        if (random() < 0.05) world.recreateOwner();
        if (random() < 0.5) continue;
        const followed = planners.followed();
        t.same(followed, planners.listed(), `seed ${seed}, step ${step}`);
        for (const action of followed.actions) {
          seen.actions++;
          if (!("pod" in action)) continue;
          if (world.isOwn(action.pod)) seen.own++;
          else if (!isOfCluster)
            t.same([action.pod.namespace, action.pod.controller], ["default", undefined]);
        }
      }
    }
    t.ok(seen.actions > 100, `${seen.actions} actions were planned`);
    t.comment(`${seen.actions} actions, ${seen.own} of them on own pods`);
  });
}

/** As the object is now: under its UID of the time. */
function current<T extends { readonly metadata: object }>(object: T, world: ObservedWorld): T {
  return { ...object, metadata: { ...object.metadata, uid: world.owner.uid, name: "app" } };
}

checked("CloneSet", (world) => {
  const { caches, now } = world;
  const indexes = new PodIndexes<CloneIndex>(caches.pods);
  const options = cloneSets.defaultOptions;
  const planned = (reader: ClusterReader, state?: ControllerState<CloneIndex>) => {
    const observed = observeCloneSet(current(cloneSets.cloneSet("app"), world), reader, options, state);
    return planCloneSet(cloneSetState({ observed, options, now, random: seededRandom(1) }));
  };
  return {
    followed: () => planned(caches, { ...justStarted, indexes }),
    listed: () => planned(listedCluster(world.lists)),
  };
});

checked("StatefulSet", (world) => {
  const { caches, now } = world;
  const template = { metadata: { name: "data" } };
  const spec = { podManagementPolicy: "Parallel" as const, volumeClaimTemplates: [template] };
  const set = () => current(statefulSets.statefulSet("app", spec), world);
  const indexes = setIndexes(caches, { get: (key) => (key === "default/app" ? set() : undefined) });
  const options = statefulSets.defaultOptions;
  const planned = (reader: ClusterReader, state?: ControllerState<SetIndex>) => {
    const observed = observeStatefulSet(set(), reader, options, state);
    return planStatefulSet(statefulSetState({ observed, options, now, random: seededRandom(1) }));
  };
  return {
    followed: () => planned(caches, { ...justStarted, indexes }),
    listed: () => planned(listedCluster(world.lists)),
  };
});

checked("DaemonSet", (world) => {
  const { caches, now } = world;
  const set = () => current(daemonSets.daemonSet(), world);
  const indexes = new PodIndexes<DaemonIndex>(caches.pods, () => [ownerKeyOf(set().metadata)]);
  caches.nodes.subscribe(({ object }) => indexes.get(ownerKeyOf(set().metadata))?.touch(object.name));
  const options = daemonSets.defaultOptions;
  const planned = (reader: ClusterReader, state?: Parameters<typeof observeDaemonSet>[3]) => {
    const observed = observeDaemonSet(set(), reader, options, state);
    return planDaemonSet(daemonSetState({ observed, options, now, random: seededRandom(1) }));
  };
  return {
    followed: () => planned(caches, { ...justStarted, indexes, failed: { waitMs: () => 0 } }),
    listed: () => planned(listedCluster(world.lists)),
  };
});

checked("BroadcastJob", (world) => {
  const { caches, now } = world;
  const job = () => current(broadcastJobs.broadcastJob(), world);
  const indexes = new PodIndexes<TaskIndex>(caches.pods);
  caches.nodes.subscribe(({ object }) => indexes.get(ownerKeyOf(job().metadata))?.touch(object.name));
  const options = broadcastJobs.defaultOptions;
  const planned = (reader: ClusterReader, state?: ControllerState<TaskIndex>) => {
    const observed = observeBroadcastJob(job(), reader, state);
    return planBroadcastJob(broadcastJobState({ observed, options, now, random: seededRandom(1) }));
  };
  return {
    followed: () => planned(caches, { ...justStarted, indexes }),
    listed: () => planned(listedCluster(world.lists)),
  };
});

checked(
  "SidecarSet",
  (world) => {
    const { now, caches, namespaces, everyPod } = world;
    const systemNamespace = "default";
    const namespaceSelector = { matchLabels: { managed: "yes" } };
    const set = () => current(sidecarSetOf({ namespaceSelector }), world);
    const { annotations, containers, containerStatuses } = injectedPod(set(), "any");
    const injected = (pod: Pod): Pod => ({ ...pod, annotations, containers, containerStatuses });
    const isSelected = parseSelector(formatSelector(set().spec.selector ?? {}));
    const selected = new Cache<Pod>({
      identify: ({ namespace, name, uid, resourceVersion: version }) => ({
        key: `${namespace}/${name}`,
        uid,
        version,
      }),
      keep: ({ labels }) => isSelected.matches(labels),
      tombstones: 0,
    });
    let version = 0;
    let index = selectedIndex([selected]);
    everyPod.subscribe((change) => {
      const { before, after } = sidesOf(change);
      if (after !== undefined) selected.upsert(injected(after));
      else if (before !== undefined) selected.remove(`${before.namespace}/${before.name}`, before.uid);
    });
    selected.subscribe((change) => {
      const { before, after } = sidesOf(change);
      index.podChanged(before, after);
    });
    namespaces.subscribe(() => version++);
    let uid = world.owner.uid;
    const planned = (reader: SidecarSetReader, index: SidecarIndex, namespacesVersion?: number) => {
      const observed = observeSidecarSet(set(), reader, { index, systemNamespace, namespacesVersion });
      return planSidecarSet(
        sidecarSetState({ observed, options: { systemNamespace }, now, random: seededRandom(1) }),
      );
    };
    return {
      followed: () => {
        if (uid !== world.owner.uid) index = selectedIndex([selected]);
        uid = world.owner.uid;
        return planned({ ...caches, namespaces }, index, version);
      },
      listed: () => {
        const pods = world.lists.pods.filter(({ labels }) => isSelected.matches(labels)).map(injected);
        const cluster = listedCluster({ ...world.lists, pods });
        return planned(cluster, selectedIndex([cluster.pods]));
      },
    };
  },
  true,
);
