/** Argo CD as far as the scripts and paths of this folder go: Lua 5.1 with what it offers them, and how it compares with Git. */
import { raw } from "jq-wasm";
import { lauxlib, lua, lualib } from "lua-wasm-bindings/dist/lua.51.js";
import { isJsonObject, type JsonObject, jsonEqual } from "../../kube/core/index.ts";

/** Argo CD opens the base, package and table libraries, and `require("os")` gives the time and the date. */
const sandbox = `
local format, byte, gsub = string.format, string.byte, string.gsub
local function quoted(text)
  return '"' .. gsub(text, '[%c"\\\\]', function(c) return format("\\\\u%04x", byte(c)) end) .. '"'
end
-- As Argo CD does it, an empty table is an empty list.
function encoded(value)
  if type(value) == "string" then return quoted(value) end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  if value[1] ~= nil or next(value) == nil then
    for _, item in ipairs(value) do table.insert(parts, encoded(item)) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for key, item in pairs(value) do table.insert(parts, quoted(key) .. ":" .. encoded(item)) end
  return "{" .. table.concat(parts, ",") .. "}"
end
package.loaded.os = { time = os.time, date = os.date }
getmetatable("").__index = nil
for _, name in ipairs({ "string", "math", "io", "debug", "coroutine" }) do
  package.loaded[name] = nil
  _G[name] = nil
end
os = nil
`;

/** What a script returns when its \`obj\` is this. Throws with Lua's message. */
export function runLua(script: string, object: JsonObject): unknown {
  const state = lauxlib.luaL_newstate();
  try {
    lualib.luaL_openlibs(state);
    const run = (text: string): string => {
      const code = lauxlib.luaL_dostring(state, text);
      const said = lua.lua_tostring(state, -1);
      if (code !== 0) throw new Error(said);
      return said;
    };
    run(`${sandbox}\nobj = ${literal(object)}\nreturn ""`);
    return JSON.parse(run(`return encoded((function()\n${script}\nend)())`));
  } finally {
    lua.lua_close(state);
  }
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(literal).join(", ")}}`;
  if (isJsonObject(value)) {
    const members = Object.entries(value).map(([key, item]) => `[${literal(key)}] = ${literal(item)}`);
    return `{${members.join(", ")}}`;
  }
  if (typeof value !== "string") return value === null ? "nil" : String(value);
  const bytes = [...new TextEncoder().encode(value)].map((byte) => `\\${String(byte).padStart(3, "0")}`);
  return `"${bytes.join("")}"`;
}

/** What an action made, with empty objects as they were before: Lua has no difference between them and lists. */
export function restored(after: unknown, before: unknown): unknown {
  if (Array.isArray(after)) {
    if (after.length === 0 && isJsonObject(before)) return before;
    const items: readonly unknown[] = Array.isArray(before) ? before : [];
    return after.map((item, index) => restored(item, items[index]));
  }
  if (!isJsonObject(after)) return after;
  const old = isJsonObject(before) ? before : {};
  return Object.fromEntries(Object.entries(after).map(([key, item]) => [key, restored(item, old[key])]));
}

/** The object without what the paths mean. */
export async function withoutPaths(object: JsonObject, paths: readonly string[]): Promise<JsonObject> {
  if (paths.length === 0) return object;
  return JSON.parse(await raw(object, paths.map((path) => `del(${path})`).join(" | "), ["-c"]));
}

/** Paths at which the live object is not as Git has it. What Git does not name is not compared; lists are compared as a whole. */
export function differences(git: unknown, live: unknown, path = ""): string[] {
  if (!isJsonObject(git) || !isJsonObject(live)) return jsonEqual(git, live) ? [] : [path];
  return Object.entries(git).flatMap(([key, value]) => differences(value, live[key], `${path}/${key}`));
}
