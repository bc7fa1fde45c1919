/** JSON Schema as far as the published schemas use it; a keyword it does not know is an error, never ignored. */

type Schema = Readonly<Record<string, unknown>>;

const ANNOTATIONS = new Set(["$schema", "description", "examples", "title"]);

/** The reasons why `value` does not fit the schema, each with its place; empty if it fits. */
export function schemaFaults(schema: Schema, value: unknown, at = "$"): string[] {
  const faults: string[] = [];
  for (const [keyword, wanted] of Object.entries(schema)) {
    if (ANNOTATIONS.has(keyword)) continue;
    const check = KEYWORDS[keyword];
    if (!check) throw new Error(`${at}: the keyword ${keyword} is not known here`);
    faults.push(...check(wanted, value, at, schema));
  }
  return faults;
}

type Check = (wanted: unknown, value: unknown, at: string, schema: Schema) => string[];

const TYPES: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  integer: (value) => Number.isInteger(value),
  object: isObject,
  array: Array.isArray,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

const KEYWORDS: Record<string, Check> = {
  type(wanted, value, at) {
    return TYPES[String(wanted)]?.(value) ? [] : [`${at}: not of type ${String(wanted)}`];
  },
  const: (wanted, value, at) => (value === wanted ? [] : [`${at}: not ${String(wanted)}`]),
  pattern(wanted, value, at) {
    return typeof value === "string" && new RegExp(String(wanted), "u").test(value)
      ? []
      : [`${at}: not like ${String(wanted)}`];
  },
  anyOf(wanted, value, at) {
    const schemas = Array.isArray(wanted) ? wanted : [];
    return schemas.some((one) => schemaFaults(one, value, at).length === 0) ? [] : [`${at}: none of anyOf`];
  },
  minimum: (wanted, value, at) => (Number(value) >= Number(wanted) ? [] : [`${at}: below ${String(wanted)}`]),
  minItems(wanted, value, at) {
    const length = Array.isArray(value) ? value.length : 0;
    return length >= Number(wanted) ? [] : [`${at}: fewer than ${String(wanted)}`];
  },
  items(wanted, value, at) {
    if (!isObject(wanted) || !Array.isArray(value)) return [];
    return value.flatMap((item, index) => schemaFaults(wanted, item, `${at}[${index}]`));
  },
  required(wanted, value, at) {
    const names = Array.isArray(wanted) ? wanted.map(String) : [];
    const missing = names.filter((name) => !isObject(value) || !Object.hasOwn(value, name));
    return missing.map((name) => `${at}: ${name} is missing`);
  },
  properties(wanted, value, at) {
    if (!isObject(wanted) || !isObject(value)) return [];
    return Object.entries(wanted).flatMap(([name, schema]) =>
      isObject(schema) && Object.hasOwn(value, name)
        ? schemaFaults(schema, value[name], `${at}.${name}`)
        : [],
    );
  },
  additionalProperties(wanted, value, at, schema) {
    const known = isObject(schema.properties) ? schema.properties : {};
    if (wanted !== false || !isObject(value)) return [];
    const more = Object.keys(value).filter((name) => !Object.hasOwn(known, name));
    return more.map((name) => `${at}: ${name} is not expected`);
  },
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
