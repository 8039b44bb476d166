/** Image references: what kubelet and admission read out of them. */

const domain =
  "(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?";
const component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const name = `(?:${domain}/)?${component}(?:/${component})*`;
const reference = new RegExp(
  `^${name}(?::(?<tag>\\w[\\w.-]{0,127}))?(?:@(?<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`,
);

/** The tag of an image; `latest` without tag and digest, empty for a digest alone and for what is no reference. */
export function imageTag(image: string): string {
  const groups = reference.exec(image)?.groups;
  if (groups === undefined || /^[a-f0-9]{64}$/.test(image)) return "";
  return groups["tag"] ?? (groups["digest"] === undefined ? "latest" : "");
}

/** Kubernetes' pull policy for an image that has none. */
export function pullPolicyByTag(image: string): "Always" | "IfNotPresent" {
  return imageTag(image) === "latest" ? "Always" : "IfNotPresent";
}
