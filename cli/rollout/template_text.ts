/** A pod template as `kubectl describe` lays it out. */
import { at, type Fields, fieldsAt, isFields, listAt, numberAt, textAt, textsAt } from "../fields.ts";

/** What a SidecarSet gives to pods, in the same layout. */
export function sidecarsText(spec: Fields): string {
  const lines = ["Sidecars:", ...contentLines(spec)];
  const secrets = listAt(spec, "imagePullSecrets").map((secret) => textAt(secret, "name") ?? "");
  lines.push(...listLines("  Image Pull Secrets:", secrets));
  for (const patch of listAt(spec, "patchPodMetadata")) {
    const policy = textAt(patch, "patchPolicy") ?? "Retain";
    lines.push(...mapLines(`  Annotations (${policy}):`, textsAt(patch, "annotations"), ": ", "<none>"));
  }
  return `${lines.join("\n")}\n`;
}

export function podTemplateText(template: Fields): string {
  const lines = ["Pod Template:"];
  lines.push(...mapLines("  Labels:", textsAt(template, "metadata", "labels"), "=", "<none>"));
  const annotations = textsAt(template, "metadata", "annotations");
  if (Object.keys(annotations).length > 0)
    lines.push(...mapLines("  Annotations:", annotations, ": ", "<none>"));
  const account = textAt(template, "spec", "serviceAccountName");
  if (account !== undefined) lines.push(`  Service Account:\t${account}`);
  lines.push(...contentLines(at(template, "spec")));
  const nodeSelectors = Object.entries(textsAt(template, "spec", "nodeSelector")).map(pairText);
  lines.push(...listLines("  Node-Selectors:", nodeSelectors));
  lines.push(...listLines("  Tolerations:", listAt(template, "spec", "tolerations").map(tolerationText)));
  return `${lines.join("\n")}\n`;
}

/** Containers and volumes. */
function contentLines(spec: unknown): string[] {
  const initContainers = listAt(spec, "initContainers");
  return [
    ...(initContainers.length > 0 ? ["  Init Containers:", ...initContainers.flatMap(containerLines)] : []),
    "  Containers:",
    ...listAt(spec, "containers").flatMap(containerLines),
    ...listLines("  Volumes:", listAt(spec, "volumes").map(volumeText)),
  ];
}

const pairText = ([key, value]: [string, string]): string => `${key}=${value}`;

function mapLines(title: string, map: Record<string, string>, sign: string, none: string): string[] {
  return listLines(
    title,
    Object.entries(map).map(([key, value]) => `${key}${sign}${value}`),
    none,
  );
}

function listLines(title: string, items: readonly string[], none = "<none>"): string[] {
  const [first = none, ...others] = items;
  return [`${title}\t${first}`, ...others.map((item) => `${" ".repeat(title.search(/\S/))}\t${item}`)];
}

function containerLines(container: unknown): string[] {
  const ports = listAt(container, "ports");
  const lines = [`   ${textAt(container, "name") ?? ""}:`, `    Image:\t${textAt(container, "image") ?? ""}`];
  lines.push(`    Port:\t${ports.map((port) => portText(port, "containerPort")).join(", ") || "<none>"}`);
  lines.push(`    Host Port:\t${ports.map((port) => portText(port, "hostPort")).join(", ") || "<none>"}`);
  for (const [title, field] of [
    ["Command", "command"],
    ["Args", "args"],
  ] as const) {
    const words = listAt(container, field);
    if (words.length > 0) lines.push(`    ${title}:`, ...words.map((word) => `      ${String(word)}`));
  }
  for (const [title, field] of [
    ["Limits", "limits"],
    ["Requests", "requests"],
  ] as const) {
    const amounts = Object.entries(fieldsAt(container, "resources", field));
    if (amounts.length > 0)
      lines.push(`    ${title}:`, ...amounts.map(([name, amount]) => `      ${name}:\t${String(amount)}`));
  }
  lines.push(...indented("    Environment:", listAt(container, "env").map(variableText)));
  lines.push(...indented("    Mounts:", listAt(container, "volumeMounts").map(mountText)));
  return lines;
}

function indented(title: string, items: readonly string[]): string[] {
  return items.length === 0 ? [`${title}\t<none>`] : [title, ...items.map((item) => `      ${item}`)];
}

function portText(port: unknown, field: string): string {
  return `${numberAt(port, field) ?? 0}/${textAt(port, "protocol") ?? "TCP"}`;
}

function variableText(variable: unknown): string {
  const name = textAt(variable, "name") ?? "";
  const source = at(variable, "valueFrom");
  if (!isFields(source)) return `${name}:\t${textAt(variable, "value") ?? ""}`;
  const [kind = "", detail] = Object.entries(source)[0] ?? [];
  const from = textAt(detail, "fieldPath") ?? textAt(detail, "name") ?? textAt(detail, "resource") ?? "";
  const key = textAt(detail, "key");
  return `${name}:\t<${kind} ${from}${key === undefined ? "" : `, key ${key}`}>`;
}

function mountText(mount: unknown): string {
  const access = at(mount, "readOnly") === true ? "ro" : "rw";
  return `${textAt(mount, "mountPath") ?? ""} from ${textAt(mount, "name") ?? ""} (${access})`;
}

function volumeText(volume: unknown): string {
  const kind = isFields(volume) ? Object.keys(volume).find((key) => key !== "name") : undefined;
  return `${textAt(volume, "name") ?? ""} (${kind ?? "emptyDir"})`;
}

function tolerationText(toleration: unknown): string {
  const key = textAt(toleration, "key") ?? "";
  const value = textAt(toleration, "value");
  const effect = textAt(toleration, "effect");
  const operator = textAt(toleration, "operator") === "Exists" ? " op=Exists" : "";
  return `${key}${value === undefined ? "" : `=${value}`}${effect === undefined ? "" : `:${effect}`}${operator}`;
}
