/** A schema node with references resolved: what pruning, defaulting, validation and field ownership walk along. */
import { type Fields, fieldsAt, isFields, textAt, textsAt, valueAt } from "../json.ts";

type ShapeType = "object" | "array" | "string" | "integer" | "number" | "boolean" | "int-or-string" | "any";

export interface ShapeSource {
  /** Named schemas that `$ref` can point to. */
  readonly components: Fields;
  /** Structural (custom kinds): objects lose unknown fields even when no field is declared. */
  readonly structural: boolean;
}

export class Shape {
  readonly raw: Fields;
  readonly source: ShapeSource;
  /** Name of the referenced schema, `io.k8s.api.core.v1.Pod`; empty for nameless ones. */
  readonly name: string;
  readonly #members = new Map<string, Shape | undefined>();
  #values: Shape | undefined | null = null;
  #items: Shape | undefined | null = null;

  constructor(raw: Fields, source: ShapeSource) {
    const resolved = resolve(raw, source);
    this.raw = resolved.raw;
    this.name = resolved.name;
    this.source = source;
  }

  get type(): ShapeType {
    if (this.raw["x-kubernetes-int-or-string"] === true || this.raw["format"] === "int-or-string")
      return "int-or-string";
    const type = this.raw["type"];
    switch (type) {
      case "object":
      case "array":
      case "string":
      case "integer":
      case "number":
      case "boolean":
        return type;
      default:
        return this.isQuantity ? "string" : isFields(this.raw["properties"]) ? "object" : "any";
    }
  }

  get isQuantity(): boolean {
    return this.name === "io.k8s.apimachinery.pkg.api.resource.Quantity";
  }

  get isTime(): boolean {
    return this.raw["format"] === "date-time";
  }

  /** Unknown members of this object stay. */
  get preserves(): boolean {
    if (this.raw["x-kubernetes-preserve-unknown-fields"] === true) return true;
    if (this.source.structural) return false;
    return !isFields(this.raw["properties"]) && this.raw["additionalProperties"] === undefined;
  }

  get embedded(): boolean {
    return this.raw["x-kubernetes-embedded-resource"] === true;
  }

  get nullable(): boolean {
    return this.raw["nullable"] === true;
  }

  get listType(): "atomic" | "set" | "map" {
    const type = this.raw["x-kubernetes-list-type"];
    return type === "set" || type === "map" ? type : "atomic";
  }

  get listKeys(): readonly string[] {
    return textsAt(this.raw, "x-kubernetes-list-map-keys");
  }

  get atomicMap(): boolean {
    return this.raw["x-kubernetes-map-type"] === "atomic";
  }

  get required(): readonly string[] {
    return textsAt(this.raw, "required");
  }

  get memberNames(): readonly string[] {
    return Object.keys(fieldsAt(this.raw, "properties"));
  }

  /** A declared member of an object. */
  member(name: string): Shape | undefined {
    if (this.#members.has(name)) return this.#members.get(name);
    const properties = fieldsAt(this.raw, "properties");
    const shape = this.#child(Object.hasOwn(properties, name) ? properties[name] : undefined);
    this.#members.set(name, shape);
    return shape;
  }

  /** The values of a map. */
  get values(): Shape | undefined {
    if (this.#values === null) this.#values = this.#child(this.raw["additionalProperties"]);
    return this.#values;
  }

  get items(): Shape | undefined {
    if (this.#items === null) this.#items = this.#child(this.raw["items"]);
    return this.#items;
  }

  #child(raw: unknown): Shape | undefined {
    return isFields(raw) ? new Shape(raw, this.source) : undefined;
  }
}

const prefix = "#/components/schemas/";

function resolve(raw: Fields, source: ShapeSource): { raw: Fields; name: string } {
  const direct = textAt(raw, "$ref");
  const parts = raw["allOf"];
  const wrapped = Array.isArray(parts) && parts.length === 1 ? textAt(parts[0], "$ref") : "";
  const reference = direct || wrapped;
  if (reference === "") return { raw, name: "" };
  const name = reference.slice(prefix.length);
  const target = valueAt(source.components, name);
  if (!isFields(target)) return { raw, name };
  const { allOf: _allOf, $ref: _ref, ...siblings } = raw;
  return { raw: { ...target, ...siblings }, name };
}
