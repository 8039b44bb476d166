/** Defaults and refusals of ImagePullJobs; both versions are alike. Spec: images P2, P4.19, P5. */
import { cloneJson, type JsonObject, jsonEqual, own } from "../../kube/core/index.ts";
import {
  defaultPullSettings,
  imageComplaints,
  member,
  nodesComplaints,
  pullComplaints,
} from "../image_pull_settings.ts";
import type { Draft } from "../kind_reader.ts";
import type { ImagePullJob } from "./schema.ts";

/** Keeps a job until the copies of its pull secrets are released. */
export const pullJobFinalizer = "apps.kruise.io/deletion-protection";

/** A copy of the object with every default filled in. A new object also gets the finalizer. */
export function defaultImagePullJob(object: JsonObject, isNew: boolean): JsonObject {
  const result = cloneJson(object);
  const spec = member(result, "spec");
  defaultPullSettings(spec);
  if ((own(spec, "imagePullPolicy") ?? "") === "") spec["imagePullPolicy"] = "IfNotPresent";
  if (isNew) {
    const metadata = member(result, "metadata");
    const finalizers = metadata["finalizers"];
    const present: unknown[] = Array.isArray(finalizers) ? finalizers : [];
    if (!present.includes(pullJobFinalizer)) metadata["finalizers"] = [...present, pullJobFinalizer];
  }
  return result;
}

/** What is wrong, in the order in which it is said. */
export function imagePullJobComplaints({ spec }: Draft<ImagePullJob>): string[] {
  return [
    ...nodesComplaints(spec ?? {}),
    ...imageComplaints(spec?.image ?? ""),
    ...pullComplaints(spec ?? {}, true),
  ];
}

/** Whether the list of pull secrets differs. */
export function changesPullSecrets(before: Draft<ImagePullJob>, after: Draft<ImagePullJob>): boolean {
  return !jsonEqual(before.spec?.pullSecrets ?? [], after.spec?.pullSecrets ?? []);
}
