/** Whose a pod or a claim may be by its numbered name: workloads whose pods have ordinals find their own by it. */
import type { PersistentVolumeClaim, Pod } from "../../../kube/index.ts";

/** The number after the last `-`; undefined for other names. */
export function ordinalIn(podName: string): number | undefined {
  const digits = /-(\d{1,15})$/.exec(podName)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** `namespace/name` of the workload whose pod it may be, by its name `<workload>-<ordinal>`. */
export function orphanKeys(pod: Pick<Pod, "namespace" | "name">): string[] {
  const prefix = /^(.+)-\d+$/.exec(pod.name)?.[1];
  return prefix === undefined ? [] : [`${pod.namespace}/${prefix}`];
}

/** `namespace/name` of the workloads that may have made the claim for a pod, by its name `<template>-<workload>-<ordinal>`. */
export function claimantKeys({
  namespace,
  name,
}: Pick<PersistentVolumeClaim, "namespace" | "name">): string[] {
  const words = (/^(.+)-\d+$/.exec(name)?.[1] ?? "").split("-");
  return words.slice(1).map((_, index) => `${namespace}/${words.slice(index + 1).join("-")}`);
}
