/** What names, label keys and label values may look like; each function returns the complaints, none if valid. */
import { utf8Length } from "./go_text.ts";

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const dns1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const qualified = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue = `(${qualified})?`;
const configKey = "[-._a-zA-Z0-9]+";
const headerName = "[-A-Za-z0-9]+";

const whole = (pattern: string) => new RegExp(`^(?:${pattern})$`);
const subdomainPattern = whole(subdomain);
const labelPattern = whole(label);
const qualifiedPattern = whole(qualified);

export function maxLengthMessage(length: number): string {
  return `must be no more than ${length} characters`;
}

export function rangeMessage(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

/** The API server's sentence about a pattern, with its examples. */
export function patternMessage(message: string, pattern: string, ...examples: readonly string[]): string {
  const list = examples.map((example) => `'${example}'`).join(",  or ");
  return examples.length === 0
    ? `${message} (regex used for validation is '${pattern}')`
    : `${message} (e.g. ${list}, regex used for validation is '${pattern}')`;
}

/** The rule of a text of at most so many bytes that matches a pattern. */
function textRule(
  longest: number,
  pattern: string,
  message: string,
  ...examples: readonly string[]
): (value: string) => string[] {
  const allowed = whole(pattern);
  const complaint = patternMessage(message, pattern, ...examples);
  return (value) => {
    const errors = utf8Length(value) > longest ? [maxLengthMessage(longest)] : [];
    if (!allowed.test(value)) errors.push(complaint);
    return errors;
  };
}

const labelComplaint = patternMessage(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  label,
  "my-name",
  "123-abc",
);

export function dnsLabelErrors(value: string): string[] {
  const errors = utf8Length(value) > 63 ? [maxLengthMessage(63)] : [];
  if (!labelPattern.test(value))
    errors.push(subdomainPattern.test(value) ? "must not contain dots" : labelComplaint);
  return errors;
}

export const dnsSubdomainErrors = textRule(
  253,
  subdomain,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  "example.com",
);

/** Names of services, which start with a letter. */
export const dns1035LabelErrors = textRule(
  63,
  dns1035,
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  "my-name",
  "abc-123",
);

export const labelValueErrors = textRule(
  63,
  labelValue,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  "MyValue",
  "my_value",
  "12345",
);

const configKeyRule = textRule(
  253,
  configKey,
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  "key.name",
  "KEY_NAME",
  "key-name",
);

/** Keys of ConfigMaps and Secrets. */
export function configKeyErrors(value: string): string[] {
  const errors = configKeyRule(value);
  if (value === "." || value === "..") errors.push(`must not be '${value}'`);
  else if (value.startsWith("..")) errors.push("must not start with '..'");
  return errors;
}

export const headerNameErrors = textRule(
  Number.POSITIVE_INFINITY,
  headerName,
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  "X-Header-Name",
);

const qualifiedComplaint = patternMessage(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  qualified,
  "MyName",
  "my.name",
  "123-abc",
);

/** Keys of labels and annotations: an optional DNS subdomain, `/`, and a name. */
export function qualifiedNameErrors(value: string): string[] {
  const parts = value.split("/");
  if (parts.length > 2) {
    return [
      `a qualified name ${qualifiedComplaint} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const errors: string[] = [];
  const name = parts.at(-1) ?? "";
  if (parts.length === 2) {
    const prefix = parts[0] ?? "";
    if (prefix === "") errors.push("prefix part must be non-empty");
    else errors.push(...dnsSubdomainErrors(prefix).map((message) => `prefix part ${message}`));
  }
  if (name === "") errors.push("name part must be non-empty");
  else if (utf8Length(name) > 63) errors.push(`name part ${maxLengthMessage(63)}`);
  if (!qualifiedPattern.test(name)) errors.push(`name part ${qualifiedComplaint}`);
  return errors;
}

export function portNumberErrors(port: unknown): string[] {
  return typeof port === "number" && port >= 1 && port <= 65535 ? [] : [rangeMessage(1, 65535)];
}

export function portNameErrors(name: string): string[] {
  const errors: string[] = [];
  if (utf8Length(name) > 15) errors.push(maxLengthMessage(15));
  if (!/^[-a-z0-9]+$/.test(name)) {
    errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(name)) errors.push("must contain at least one letter (a-z)");
  if (name.includes("--")) errors.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) errors.push("must not begin or end with a hyphen");
  return errors;
}

/** Environment variable names since Kubernetes 1.34: any printable ASCII but `=`. */
export function envNameErrors(value: string): string[] {
  if (value === "") return ["environment variable name must be non-empty"];
  return /^[ -<>-~]*$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}
