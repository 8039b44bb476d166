/** Jobs: what runs to its end, once or time and again. */

import { amount, apps, image, type Maker, object } from "./applied.ts";
import type { Chance } from "./chance.ts";

export const broadcastJob: Maker = (chance, namespace, name) =>
  object(
    `${apps}/v1alpha1`,
    "broadcastjobs",
    "BroadcastJob",
    { namespace, name },
    {
      parallelism: amount(chance, 3),
      template: {
        metadata: { annotations: { "sandbox.refit.dev/exit": "0@2s" } },
        spec: { restartPolicy: "Never", containers: [{ name: "main", image: image(chance) }] },
      },
      completionPolicy: { type: "Always" },
    },
    (each) => ({ spec: { parallelism: amount(each, 3) } }),
  );

export const imagePullJob: Maker = (chance, namespace, name) =>
  object(
    `${apps}/v1alpha1`,
    "imagepulljobs",
    "ImagePullJob",
    { namespace, name },
    {
      image: image(chance),
      imagePullPolicy: chance.oneOf(["IfNotPresent", "Always"]),
      parallelism: chance.whole(1, 2),
      completionPolicy: { type: "Always" },
    },
    (each) => ({ spec: { parallelism: each.whole(1, 3) } }),
  );

/** A run each minute, until all is well: then it is paused. */
export const cronJob: Maker = (chance, namespace, name) => {
  const changed = (each: Chance): object => ({
    concurrencyPolicy: each.oneOf(["Allow", "Forbid", "Replace"]),
    paused: each.is(0.2),
  });
  return object(
    `${apps}/v1alpha1`,
    "advancedcronjobs",
    "AdvancedCronJob",
    { namespace, name },
    {
      schedule: "*/1 * * * *",
      successfulJobsHistoryLimit: chance.whole(0, 2),
      failedJobsHistoryLimit: chance.whole(0, 2),
      ...(chance.is(0.5) ? { startingDeadlineSeconds: chance.oneOf([5, 30]) } : {}),
      ...changed(chance),
      template: {
        broadcastJobTemplate: {
          spec: {
            completionPolicy: { type: "Always" },
            template: {
              metadata: { annotations: { "sandbox.refit.dev/exit": `0@${chance.oneOf([2, 50, 90])}s` } },
              spec: { restartPolicy: "Never", containers: [{ name: "main", image: image(chance) }] },
            },
          },
        },
      },
    },
    (each) => ({ spec: changed(each) }),
  );
};

const pulled = ["web:1", "web:2", "web:3", "web:4"] as const;

export const imageListPullJob: Maker = (chance, namespace, name) => {
  const images = (each: Chance): string[] => pulled.filter((_, index) => index === 0 || each.is(0.4));
  return object(
    `${apps}/v1beta1`,
    "imagelistpulljobs",
    "ImageListPullJob",
    { namespace, name },
    { images: images(chance), parallelism: chance.whole(1, 2), completionPolicy: { type: "Always" } },
    (each) => ({ spec: { images: images(each) } }),
  );
};

/** Looks into the pods of all workloads of its namespace; what cannot be reached by then is given up. */
export const ephemeralJob: Maker = (chance, namespace, name) =>
  object(
    `${apps}/v1alpha1`,
    "ephemeraljobs",
    "EphemeralJob",
    { namespace, name },
    {
      selector: { matchLabels: { group: "simulated" } },
      parallelism: chance.whole(1, 3),
      activeDeadlineSeconds: 600,
      template: {
        ephemeralContainers: [
          {
            name,
            image: "look:1",
            imagePullPolicy: "IfNotPresent",
            terminationMessagePolicy: "File",
            command: ["true"],
          },
        ],
      },
    },
    (each) => ({ spec: { paused: each.is(0.3), parallelism: each.whole(1, 3) } }),
  );
