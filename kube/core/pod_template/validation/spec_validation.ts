/** The pod spec around the containers. */

import { tooLong } from "../../field_errors.ts";
import { utf8Length } from "../../go_text.ts";
import type { JsonObject } from "../../json.ts";
import { dnsLabelErrors, dnsSubdomainErrors, rangeMessage } from "../../names.ts";
import { validateLabels } from "../../selector.ts";
import { has } from "../fields.ts";
import { type PodContext, validateContainers, validateInitContainers } from "./container_validation.ts";
import type { Cursor } from "./cursor.ts";
import { ipErrors } from "./ip_address.ts";
import { textMap } from "./object_meta.ts";
import { validateOverhead, validatePodResources } from "./resource_validation.ts";
import {
  validateAffinity,
  validateGates,
  validateSpread,
  validateTolerations,
} from "./scheduling_validation.ts";
import { validateHostProcess, validateOperatingSystem, validatePodSecurity } from "./security_validation.ts";
import { validateVolumes } from "./volume_validation.ts";

export interface SpecRules {
  /** A pod itself, not a template: ports on the host's network must be set. */
  readonly isPod: boolean;
  /** Claims that are mounted under their own name; they take the place of volumes of that name. */
  readonly claimTemplates: readonly string[];
}

export function validateSpec(spec: Cursor, rules: SpecRules): void {
  if (!spec.has("terminationGracePeriodSeconds")) spec.required("terminationGracePeriodSeconds");
  const volumes = validateVolumes(spec);
  for (const name of rules.claimTemplates) volumes.set(name, { persistentVolumeClaim: { claimName: name } });
  const context: PodContext = {
    volumes,
    claims: validateResourceClaims(spec),
    gracePeriod: spec.number("terminationGracePeriodSeconds"),
    os: spec.object("os")?.text("name") ?? "",
    restartPolicy: spec.text("restartPolicy"),
    hostUsers: spec.value["hostUsers"] !== false,
  };
  validateContainers(spec, context);
  validateInitContainers(spec, context);
  validatePodResources(spec, context.claims);
  validateHostNetwork(spec, rules.isPod);
  spec.choice("restartPolicy", ["Always", "OnFailure", "Never"], true);
  spec.choice("dnsPolicy", ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], true);
  spec.add(...validateLabels(textMap(spec, "nodeSelector"), spec.at("nodeSelector")));
  validatePodSecurity(spec);
  validateAffinity(spec);
  validateDns(spec);
  validateGates(spec);
  validateSpread(spec);
  const containers = [...spec.objects("initContainers"), ...spec.objects("containers")];
  validateHostProcess(spec, containers);
  validateUserNamespace(spec, containers);
  validateNames(spec);
  validateTolerations(spec);
  validateHostAliases(spec);
  if (spec.has("preemptionPolicy")) spec.choice("preemptionPolicy", ["PreemptLowerPriority", "Never"], true);
  validateOverhead(spec);
  validateOperatingSystem(spec, containers);
  validateFileVariables(containers, volumes);
}

function validateResourceClaims(spec: Cursor): Set<string> {
  const names = new Set<string>();
  for (const claim of spec.objects("resourceClaims")) {
    const name = claim.text("name");
    if (claim.needsText("name")) {
      if (names.has(name)) claim.duplicate("name", name);
      else claim.follows("name", dnsLabelErrors);
      names.add(name);
    }
    const sources = ["resourceClaimName", "resourceClaimTemplateName"].filter((key) => claim.has(key));
    if (sources.length === 2) {
      const detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
      claim.invalid("", claim.value, detail);
    } else if (sources.length === 0) {
      claim.invalid("", claim.value, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    }
    for (const key of sources) claim.follows(key, dnsSubdomainErrors);
  }
  return names;
}

function validateHostNetwork(spec: Cursor, isPod: boolean): void {
  if (!spec.flag("hostNetwork")) return;
  for (const container of spec.objects("containers")) {
    for (const port of container.objects("ports")) {
      const hostPort = port.number("hostPort") ?? 0;
      if ((!isPod && hostPort === 0) || hostPort === (port.number("containerPort") ?? 0)) continue;
      port.invalid("hostPort", hostPort, "must match `containerPort` when `hostNetwork` is true");
    }
  }
}

/** Limits of the resolver: 3 servers, 32 search domains, 2048 characters of them. */
function validateDns(spec: Cursor): void {
  const config = spec.object("dnsConfig");
  if (spec.text("dnsPolicy") === "None") {
    if (config === undefined) {
      spec.required("dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None");
      return;
    }
    if (config.list("nameservers").length === 0) {
      config.required("nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None");
      return;
    }
  }
  if (config === undefined) return;
  const servers = config.texts("nameservers");
  if (servers.length > 3) config.invalid("nameservers", servers, "must not have more than 3 nameservers");
  config.complainEach("nameservers", servers, ipErrors);
  validateSearches(config);
  for (const option of config.objects("options"))
    if (option.text("name") === "") option.required("", "must not be empty");
}

function validateSearches(config: Cursor): void {
  const searches = config.texts("searches");
  if (searches.length > 32) config.invalid("searches", searches, "must not have more than 32 search paths");
  if (utf8Length(searches.join(" ")) > 2048) {
    const detail = "must not have more than 2048 characters (including spaces) in the search list";
    config.invalid("searches", searches, detail);
  }
  searches.forEach((search, index) => {
    if (search === ".") return;
    const domain = search.replace(/\.$/, "");
    config.complain(`searches[${index}]`, domain, searchDomainErrors(domain));
  });
}

const searchLabel = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const searchPattern = `${searchLabel}(\\.${searchLabel})*`;

function searchDomainErrors(domain: string): string[] {
  const errors = utf8Length(domain) > 253 ? ["must be no more than 253 characters"] : [];
  if (!new RegExp(`^${searchPattern}$`).test(domain)) {
    errors.push(
      `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${searchPattern}')`,
    );
  }
  return errors;
}

function validateUserNamespace(spec: Cursor, containers: readonly Cursor[]): void {
  if (spec.value["hostUsers"] !== false) return;
  const detail = "when `hostUsers` is false";
  if (spec.flag("hostNetwork")) spec.forbidden("hostNetwork", detail);
  if (spec.flag("hostPID")) spec.forbidden("HostPID", detail);
  if (spec.flag("hostIPC")) spec.forbidden("HostIPC", detail);
  for (const container of containers) {
    if (container.list("volumeDevices").length > 0) container.forbidden("volumeDevices", detail);
  }
}

const nameRules: Readonly<Record<string, (name: string) => string[]>> = {
  serviceAccountName: dnsSubdomainErrors,
  nodeName: dnsSubdomainErrors,
  hostname: dnsLabelErrors,
  subdomain: dnsLabelErrors,
  priorityClassName: dnsSubdomainErrors,
};

function validateNames(spec: Cursor): void {
  validateHostnameOverride(spec);
  for (const [key, rule] of Object.entries(nameRules)) spec.followsIfSet(key, rule);
  const deadline = spec.number("activeDeadlineSeconds");
  const longest = 2 ** 31 - 1;
  if (deadline !== undefined && (deadline < 1 || deadline > longest)) {
    spec.invalid("activeDeadlineSeconds", deadline, rangeMessage(1, longest));
  }
  if (spec.has("runtimeClassName")) spec.follows("runtimeClassName", dnsSubdomainErrors);
}

function validateHostnameOverride(spec: Cursor): void {
  const key = "hostnameOverride";
  if (!spec.has(key)) return;
  if (spec.flag("setHostnameAsFQDN"))
    spec.forbidden(key, "may not be specified when setHostnameAsFQDN is true");
  if (spec.flag("hostNetwork")) spec.forbidden(key, "may not be specified when hostNetwork is true");
  if (utf8Length(spec.text(key)) > 64) spec.add(tooLong(spec.at(key), 64));
  spec.follows(key, dnsSubdomainErrors);
}

function validateHostAliases(spec: Cursor): void {
  for (const alias of spec.objects("hostAliases")) {
    alias.follows("ip", ipErrors);
    alias.complainEach("hostnames", alias.texts("hostnames"), dnsSubdomainErrors);
  }
}

/** Variables from files come out of emptyDir volumes. */
function validateFileVariables(
  containers: readonly Cursor[],
  volumes: ReadonlyMap<string, JsonObject>,
): void {
  for (const env of containers.flatMap((container) => container.objects("env"))) {
    const reference = env.object("valueFrom")?.object("fileKeyRef");
    if (reference === undefined) continue;
    const name = reference.text("volumeName");
    const volume = volumes.get(name);
    if (volume === undefined) reference.notFound("volumeName", name);
    else if (!has(volume, "emptyDir")) {
      reference.invalid("volumeName", name, "referenced volume must be of type emptyDir");
    }
  }
}
