/**
 * The option `modules`, of a Tollgate in process and of a client. No two modules may take the same name: what one declares
 * would replace what the other does.
 */

import { Options } from "@tollgate/store/internal"
import { Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import type { AnyGroup } from "../api/declareApi.ts"
import type { ModuleDeclaration } from "../modules/Module.ts"
import type { AccountHandle } from "../promises/handles.ts"
import { listGroups } from "./coreDeclaration.ts"

const listPaths = ({ endpoints }: AnyGroup): ReadonlyArray<string> =>
  Object.values(endpoints as Readonly<Record<string, HttpApiEndpoint.Top>>).map(
    ({ method, path }) => `a path ${method} ${path}`
  )

const nameProperty = (property: string): string => `a property ${property} of accounts`

/** What every account has. */
const coreProperties = Object.keys({
  accountName: true,
  keyBucket: true,
  keyBuckets: true,
  search: true,
  meteringBucket: true,
  meteringBuckets: true,
  events: true
} satisfies Readonly<Record<keyof AccountHandle, true>>)

/** All that a module may have only for itself. */
const listNames = (
  { name, events = {}, account = {} }: ModuleDeclaration,
  groups: ReadonlyArray<AnyGroup>
): ReadonlyArray<string> => [
  `a module ${name}`,
  ...groups.flatMap((group) => [`a group ${group.identifier}`, ...listPaths(group)]),
  ...Object.keys(events).map((type) => `an event ${type}`),
  ...Object.keys(account).map(nameProperty)
]

/** A path is the same whatever its parameters are called. */
const withoutParameters = (name: string): string => name.replace(/:\w+/g, ":")

/** The modules of a list, and before them those that they need and the list lacks. */
export const addNeeded = <M extends ModuleDeclaration & { readonly needs?: ReadonlyArray<M> }>(
  modules: ReadonlyArray<M>
): ReadonlyArray<M> => {
  const isListed = ({ name }: M) => modules.some((module) => module.name === name)
  const needed = modules.flatMap(({ needs = [] }) => needs).filter((module) => !isListed(module))
  return [...new Map(needed.map((module) => [module.name, module])).values(), ...modules]
}

/** What a module of the list takes although core or an earlier module has it. */
const findClash = (modules: ReadonlyArray<ModuleDeclaration>) => {
  const owners = new Map(coreProperties.map((property) => [nameProperty(property), -1]))
  const all = addNeeded(modules)
  for (const { index, module, groups } of listGroups(all)) {
    for (const name of listNames(module, groups)) {
      const owner = owners.get(withoutParameters(name)) ?? index
      if (owner !== index) {
        const place = Math.max(owner, index) - (all.length - modules.length)
        return { path: [Math.max(0, place)], issue: `there is already ${name}; give each once` }
      }
      owners.set(withoutParameters(name), index)
    }
  }
  return undefined
}

export const isModule = (value: unknown): value is ModuleDeclaration =>
  typeof value === "object" && value !== null && "name" in value && typeof value.name === "string"

export const modulesOption = <M extends ModuleDeclaration>(example: string) =>
  Options.optional(
    Options.value(
      (value): value is ReadonlyArray<M> => Array.isArray(value) && value.every(isModule),
      `must be an array of modules, such as ${example}`
    ).check(Schema.makeFilter(findClash))
  )
