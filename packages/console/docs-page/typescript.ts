/**
 * The call of `tollgate/client` that sends the same request as the form.
 */
import type { Entry } from "./description.ts"
import type { Input } from "./request.ts"

const account = "client.account({accountName})"
const keyBucket = `${account}.keyBucket({bucketName})`
const meteringBucket = `${account}.meteringBucket({bucketId})`
const customer = `${meteringBucket}.customer({customerKey})`

/** The handle that has the methods of a group. What is between braces are parameters of the path. */
const handles: Readonly<Record<string, string>> = {
  access: "client",
  accounts: "client.accounts",
  keyBuckets: `${account}.keyBuckets`,
  consumers: `${keyBucket}.consumers`,
  keys: `${keyBucket}.keys`,
  buckets: `${account}.meteringBuckets`,
  plans: `${meteringBucket}.plans`,
  subscriptions: `${meteringBucket}.subscriptions`,
  usage: `${meteringBucket}.usage`,
  customers: customer,
  alerts: `${customer}.alerts`,
  grants: `${customer}.grants`,
  events: `${account}.events`,
  decisionLog: `${account}.decisions`,
  projects: `${account}.projects`,
  deployments: `${account}.project({projectName}).deployments`,
  tokens: `${account}.tokens`,
  sessions: `${account}.sessions`,
  webhooks: `${account}.webhooks`,
  portal: `${account}.portal`,
  portalSessions: `${account}.portalSessions`
}

/** Methods that are not on the handle of their group. */
const methods: Readonly<Record<string, string>> = {
  "search.find": `${account}.search`,
  "keys.verify": `${keyBucket}.verify`,
  "decisions.authorize": `${keyBucket}.authorize`,
  "customers.list": `${meteringBucket}.customers.list`,
  "subscriptions.quotas": `${meteringBucket}.usage.quotas`,
  "subscriptions.consume": `${meteringBucket}.usage.consume`
}

/** The modules of groups that are not of core. */
const modules: Readonly<Record<string, string>> = {
  decisionLog: "decisions",
  projects: "deployments",
  deployments: "deployments",
  tokens: "tokens",
  sessions: "tokens",
  webhooks: "webhooks",
  portal: "portal",
  portalSessions: "portal"
}

type Json = Readonly<Record<string, unknown>>

/** As a literal, on one line if it is short. */
const toLiteral = (value: unknown): string => {
  const lines = JSON.stringify(value, undefined, 2).replace(/"([A-Za-z_$][\w$]*)":/g, "$1:")
  const line = lines.replaceAll(/\n\s*/g, " ")
  return line.length > 60 ? lines : line
}

/** A key in a body is the first argument of a method, and so is the only field of some others. */
const toBodyArguments = (
  operationId: string,
  body: unknown,
  isOfHandle: (name: string) => boolean,
  hasOptions: boolean
) => {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return [body]
  const { key, ...rest } = body as Json
  if (operationId === "keys.verify" || operationId === "decisions.authorize")
    return [key, ...(Object.keys(rest).length === 0 && !hasOptions ? [] : [rest])]
  if (operationId.endsWith(".consume")) return [(body as Json)["meters"]]
  if (operationId === "plans.ensure") return [(body as Json)["plans"]]
  return [Object.fromEntries(Object.entries(body).filter(([name]) => !isOfHandle(name)))]
}

/** `Idempotency-Key` is `idempotencyKey`, and `include-managers` is `managers`. */
const toCamelCase = (name: string): string =>
  name
    .replace(/^include-/, "")
    .replace(/^[A-Z]/, (letter) => letter.toLowerCase())
    .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The options of the call: parameters of the query and headers, with the types and names that they have in TypeScript. */
const toOptions = (operationId: string, inputs: ReadonlyArray<Input>, isOfHandle: (name: string) => boolean): Json =>
  Object.fromEntries(
    inputs
      .filter(({ parameter, value }) => value !== "" && parameter.in !== "path" && !isOfHandle(parameter.name))
      .map(({ parameter: { name, schema }, value }) => {
        if (schema?.type === "object") {
          const tags = value.split("\n").flatMap((line) => {
            const [tag = "", ...rest] = line.trim().split("=")
            return tag === "" ? [] : [[tag.replace(/^tag\./, ""), rest.join("=")]]
          })
          return [operationId.endsWith(".list") ? "tags" : "ifTags", Object.fromEntries(tags)]
        }
        const isNumber = schema?.type === "integer" || schema?.type === "number"
        return [toCamelCase(name), isNumber ? Number(value) : schema?.type === "boolean" ? value === "true" : value]
      })
  )

/** `undefined` if the client has no such method. `names` are the names that the page remembers. */
export const toTypeScript = (
  { path, operation: { operationId, requestBody } }: Entry,
  inputs: ReadonlyArray<Input>,
  body: string | undefined,
  names: (parameter: string) => string,
  baseUrl: string
): string | undefined => {
  const [group = "", name = ""] = operationId.split(".")
  const handle = handles[group]
  const template = methods[operationId] ?? (handle === undefined ? undefined : `${handle}.${name}`)
  if (template === undefined) return undefined
  const get = (parameter: string): string =>
    inputs.find((input) => input.parameter.in === "path" && input.parameter.name === parameter)?.value ||
    names(parameter) ||
    `{${parameter}}`
  // A handle in a handle begins a line.
  const isLong = template.split("(").length > 2
  const lines = isLong ? template.replace(".", "\n  .").replaceAll(").", ")\n  .") : template
  const method = lines.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => JSON.stringify(get(parameter)))
  const isOfHandle = (parameter: string): boolean => template.includes(`{${parameter}}`)
  const open = [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, parameter = ""]) =>
    isOfHandle(parameter) ? [] : [get(parameter)]
  )
  const { q, ...options } = toOptions(operationId, inputs, isOfHandle)
  const hasOptions = Object.keys(options).length > 0
  let content: ReadonlyArray<unknown> = []
  try {
    if (requestBody !== undefined)
      content = toBodyArguments(operationId, JSON.parse(body || "{}"), isOfHandle, hasOptions)
  } catch {
    return "// The body is not JSON yet."
  }
  const values = [
    ...open,
    ...content,
    ...(operationId === "search.find" ? [q ?? ""] : []),
    ...(hasOptions ? [options] : [])
  ]
  const client = modules[group] && `${modules[group]}Client`
  return [
    'import { createClient } from "tollgate/client"',
    ...(client === undefined ? [] : [`import { ${client} } from "tollgate/${modules[group]}/client"`]),
    "",
    "const client = createClient({",
    `  baseUrl: ${JSON.stringify(baseUrl)},`,
    `  token: process.env.TOLLGATE_TOKEN ?? ""${client === undefined ? "" : `,\n  modules: [${client}]`}`,
    "})",
    `const result = await ${method}(${values
      .map(toLiteral)
      .join(", ")
      .replaceAll("\n", isLong ? "\n  " : "\n")})`
  ].join("\n")
}
