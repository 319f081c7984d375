/** How to call an operation: with curl, and with a handle in TypeScript. */
import { readFileSync } from "node:fs"
import type { OperationAtPath } from "./openApiDocument.ts"

/** The methods of handles by their operations, from the tables of the page that describes them. */
const readMethods = (): ReadonlyMap<string, string> => {
  const rows = readFileSync("docs/reference/http-api.md", "utf8").matchAll(
    /^\| `([^`]+\))`.*\| `([A-Z]+ \/[^`]+)` +\|$/gm
  )
  return new Map([...rows].map(([, method = "", operation = ""]) => [operation, method]))
}

const methods = readMethods()

/** The handle that has a method, by what is in the path of its operation. */
const handles: ReadonlyArray<readonly [method: RegExp, handle: string]> = [
  [/^gate\./, ""],
  [/^(me|accounts)\b/, "gate."],
  [/^(consumers|keys|verify|authorize)\b/, 'gate.account("acme").keyBucket("production").'],
  [/^(plans|subscriptions|customers?|usage)\b/, 'gate.account("acme").meteringBucket("default").'],
  [/^deployments\./, 'gate.account("acme").project("web").'],
  [/./, 'gate.account("acme").']
]

/** A method with its required parameters: `create(input, options?)` is called as `create(input)`. */
const toCall = (method: string): string =>
  method
    .replace(/,? ?options\?/, "")
    .replace(/, …\w*/, "")
    .replaceAll("?", "")

/** A call of a handle, or `undefined` if only HTTP has the operation. */
export const formatMethod = ({ method, path }: OperationAtPath): string | undefined => {
  const called = methods.get(`${method} ${path}`)
  const handle = called === undefined ? undefined : handles.find(([pattern]) => pattern.test(called))?.[1]
  return called === undefined || handle === undefined ? undefined : `await ${handle}${toCall(called)}`
}

const names: Readonly<Record<string, string>> = {
  accountName: "acme",
  bucketName: "production",
  consumerName: "alice",
  customerKey: "alice",
  projectName: "web",
  q: "alice",
  meter: "requests",
  month: "2026-11"
}

/** A name, or else a variable of the shell. */
const toName = (parameter: string): string => names[parameter] ?? `$${parameter.replace(/[A-Z]/g, "_$&").toUpperCase()}`

/** The shell reads a dollar sign in double quotes. */
const toUrl = ({ path, parameters }: OperationAtPath): string => {
  const query = parameters.filter((parameter) => parameter.in === "query" && parameter.required)
  const filled = path.replaceAll("/$", "/\\$").replace(/\{(\w+)\}/g, (_, name: string) => toName(name))
  return `$URL${filled}${query.map(({ name }, index) => `${index === 0 ? "?" : "&"}${name}=${toName(name)}`).join("")}`
}

const findExample = ({ requestBody }: OperationAtPath): unknown => {
  const media = requestBody?.content["application/json"]
  return media?.example ?? Object.values(media?.examples ?? {})[0]?.value ?? media?.schema.examples?.[0]
}

const formatCurl = (operation: OperationAtPath): string => {
  const { method, requestBody, security } = operation
  const body = findExample(operation)
  const isUpload = requestBody !== undefined && !("application/json" in requestBody.content)
  // curl sends POST by itself with a body.
  const options = [
    ...(method === "GET" || (method === "POST" && body !== undefined) ? [] : [`-X ${method}`]),
    ...(security.length === 0 ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
    ...(isUpload ? ["-T source.tar.gz"] : [])
  ]
  return ["curl", ...options, `"${toUrl(operation)}"`].join(" ")
}

export const formatCalls = (operation: OperationAtPath): ReadonlyArray<string> => {
  const method = formatMethod(operation)
  return [
    "```sh [curl]",
    formatCurl(operation),
    "```",
    "",
    ...(method === undefined ? [] : ["```typescript [TypeScript]", method, "```", ""])
  ]
}
