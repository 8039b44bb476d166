/** Workloads with pods of their own, and those over them. */

import {
  amount,
  apps,
  claimTemplates,
  heldBy,
  heldWhenDeleted,
  image,
  type Maker,
  newAnnotation,
  newEnvironment,
  newImage,
  newPause,
  object,
  ownVolumes,
  partition,
  selector,
  template,
} from "./applied.ts";
import type { Chance } from "./chance.ts";

export const cloneSet: Maker = (chance, namespace, name) => {
  const type = chance.oneOf(["InPlaceIfPossible", "InPlaceIfPossible", "ReCreate", "InPlaceOnly"]);
  const hooks = heldBy(chance);
  const volumes = ownVolumes(chance);
  const reuse = (each: Chance): object => ({ scaleStrategy: { disablePVCReuse: each.is(0.4) } });
  const strategy = (each: Chance): object => ({
    maxUnavailable: amount(each, 3),
    partition: partition(each),
    ...(type === "InPlaceOnly" ? {} : { maxSurge: each.is(0.3) ? each.whole(1, 2) : 0 }),
  });
  return object(
    `${apps}/v1alpha1`,
    "clonesets",
    "CloneSet",
    { namespace, name },
    {
      replicas: chance.is(0.1) ? chance.whole(15, 30) : chance.whole(0, 7),
      selector: selector(name),
      template: template(name, chance, {}, hooks.labels),
      ...(volumes.length > 0 ? { ...claimTemplates(chance, volumes), ...reuse(chance) } : {}),
      ...hooks.spec,
      minReadySeconds: chance.oneOf([0, 0, 5, 30]),
      revisionHistoryLimit: chance.whole(1, 3),
      updateStrategy: { type, paused: chance.is(0.1), ...strategy(chance) },
    },
    (each) => {
      if (volumes.length > 0 && each.is(0.2))
        return { spec: each.is(0.5) ? claimTemplates(each, volumes) : reuse(each) };
      switch (each.whole(0, 7)) {
        case 0:
          return { spec: { replicas: each.whole(0, 8) } };
        case 1:
          return { spec: { updateStrategy: strategy(each) } };
        case 2:
          return newPause(each, (paused) => ({ paused }));
        case 3:
          return type === "InPlaceOnly" ? newImage(each) : newEnvironment(each);
        case 4:
          return type === "InPlaceOnly" ? newImage(each) : newAnnotation(each);
        default:
          return newImage(each);
      }
    },
  );
};

export const statefulSet: Maker = (chance, namespace, name) => {
  const podManagementPolicy = chance.oneOf(["OrderedReady", "Parallel"]);
  const rolling = (each: Chance): object => ({
    maxUnavailable: podManagementPolicy === "Parallel" ? amount(each, 2) : 1,
    partition: each.is(0.5) ? 0 : each.whole(1, 4),
  });
  const hooks = heldBy(chance);
  const podUpdatePolicy = chance.oneOf(["InPlaceIfPossible", "ReCreate", "InPlaceOnly"]);
  const volumes = ownVolumes(chance);
  const retention = (each: Chance): object => {
    const policy = (): string => each.oneOf(["Retain", "Delete"]);
    return { persistentVolumeClaimRetentionPolicy: { whenScaled: policy(), whenDeleted: policy() } };
  };
  const claims = (each: Chance): object => ({
    ...claimTemplates(each, volumes),
    ...retention(each),
    volumeClaimUpdateStrategy: { type: each.oneOf(["OnDelete", "OnPodRollingUpdate"]) },
  });
  return object(
    `${apps}/v1beta1`,
    "statefulsets",
    "StatefulSet",
    { namespace, name },
    {
      replicas: chance.whole(0, 5),
      serviceName: name,
      ...(chance.is(0.3) ? { reserveOrdinals: reserved(chance) } : {}),
      selector: selector(name),
      podManagementPolicy,
      template: template(
        name,
        chance,
        { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] },
        hooks.labels,
      ),
      ...(volumes.length > 0 ? claims(chance) : {}),
      ...hooks.spec,
      revisionHistoryLimit: chance.whole(1, 3),
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { podUpdatePolicy, paused: chance.is(0.2), ...rolling(chance) },
      },
    },
    (each) => {
      if (volumes.length > 0 && each.is(0.2))
        return { spec: each.is(0.5) ? claimTemplates(each, volumes) : retention(each) };
      switch (each.whole(0, 6)) {
        case 0:
          return { spec: { replicas: each.whole(0, 6) } };
        case 1:
          return { spec: { updateStrategy: { rollingUpdate: rolling(each) } } };
        case 2:
          return newPause(each, (paused) => ({ rollingUpdate: { paused } }));
        case 3:
          return podUpdatePolicy === "InPlaceOnly" ? newImage(each) : newEnvironment(each);
        case 4:
          return { spec: { reserveOrdinals: reserved(each) } };
        default:
          return newImage(each);
      }
    },
  );
};

/** Ordinals that a StatefulSet leaves out: none, one, or a range. */
function reserved(chance: Chance): (number | string)[] {
  const first = chance.whole(0, 3);
  return chance.oneOf([[], [first], [first], [`${first}-${first + 1}`]]);
}

export const daemonSet: Maker = (chance, namespace, name) => {
  const hooks = heldWhenDeleted(chance);
  const rollingUpdateType = chance.oneOf(["Standard", "InPlaceIfPossible"]);
  const surges = rollingUpdateType === "Standard" && chance.is(0.5);
  const rolling = (each: Chance): object => ({
    ...(surges ? { maxUnavailable: 0, maxSurge: each.whole(1, 2) } : { maxUnavailable: amount(each, 2) }),
    partition: each.is(0.6) ? 0 : each.whole(1, 2),
  });
  return object(
    `${apps}/v1alpha1`,
    "daemonsets",
    "DaemonSet",
    { namespace, name },
    {
      selector: selector(name),
      template: template(name, chance, {}, hooks.labels),
      ...hooks.spec,
      revisionHistoryLimit: chance.whole(1, 3),
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { rollingUpdateType, paused: chance.is(0.2), ...rolling(chance) },
      },
    },
    (each) => {
      switch (each.whole(0, 4)) {
        case 0:
          return { spec: { updateStrategy: { rollingUpdate: rolling(each) } } };
        case 1:
          return newPause(each, (paused) => ({ rollingUpdate: { paused } }));
        case 2:
          return newEnvironment(each);
        default:
          return newImage(each);
      }
    },
  );
};

export const unitedDeployment: Maker = (chance, namespace, name) =>
  object(
    `${apps}/v1alpha1`,
    "uniteddeployments",
    "UnitedDeployment",
    { namespace, name },
    {
      replicas: chance.whole(1, 6),
      selector: selector(name),
      template: {
        cloneSetTemplate: {
          metadata: { labels: { app: name } },
          spec: {
            selector: selector(name),
            template: template(name, chance),
            updateStrategy: {
              type: "RollingUpdate",
              rollingUpdate: { podUpdatePolicy: "InPlaceIfPossible" },
            },
          },
        },
      },
      topology: { subsets: [{ name: "one" }, { name: "two", ...(chance.is(0.4) ? { replicas: 1 } : {}) }] },
    },
    (each) => {
      const containers = [{ name: "main", image: image(each) }];
      return each.is(0.5)
        ? { spec: { replicas: each.whole(1, 6) } }
        : { spec: { template: { cloneSetTemplate: { spec: { template: { spec: { containers } } } } } } };
    },
  );
