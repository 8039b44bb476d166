/**
 * Whether the kubelet would start a container of an image that is on the node already. It may have been pulled with
 * another pod's credentials, and newer kubelets do not give it to everybody. docs/direct-swap.md, "Images and credentials".
 */

import type { AgentPod } from "../../node/index.ts";
import { methods } from "../../proto/cri/index.ts";
import type { CriClient } from "../cri/client.ts";

/** `status.nodeInfo.kubeletVersion` of the own Node; undefined when it cannot be known now. */
export type KubeletVersion = (signal: AbortSignal | undefined) => Promise<string | undefined>;

/** Throws AgentError. The text says why only the kubelet can decide. */
export async function imageRefusal(
  client: CriClient,
  pod: AgentPod,
  imageId: string,
  kubeletVersion: KubeletVersion,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  // What a container of this pod was made of has been granted to it.
  if (await hasRun(client, pod.uid, imageId, signal)) return undefined;
  if (pod.hasPullSecrets)
    return "the image is new to the pod, which has imagePullSecrets: the one on the node may have been pulled with others";
  if (!verifiesCredentials(await kubeletVersion(signal))) return undefined;
  return "the image is new to the pod, and the kubelet looks whether the pod may have it";
}

async function hasRun(
  client: CriClient,
  podUid: string,
  imageId: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const filter = { label_selector: { "io.kubernetes.pod.uid": podUid } };
  const { containers } = await client.call(methods.ListContainers, { filter }, { signal });
  return containers.some(({ image, image_ref }) => image_ref === imageId || image?.image === imageId);
}

/** KubeletEnsureSecretPulledImages is on by default from 1.35. What cannot be read counts as newer. */
export function verifiesCredentials(kubeletVersion: string | undefined): boolean {
  const [, major = "", minor = ""] = /^v?(\d+)\.(\d+)\./.exec(kubeletVersion ?? "") ?? [];
  return !(major === "1" && Number(minor) < 35);
}
