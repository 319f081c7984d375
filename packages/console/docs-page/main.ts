/**
 * Loads the OpenAPI description, and lists its operations by group.
 */
import { type Description, type Entry, listOperations, makeResolve } from "./description.ts"
import { element, getElement, renderText } from "./dom.ts"
import { renderOperation } from "./operationView.ts"
import { bindName } from "./remember.ts"
import type { PreparedRequest } from "./request.ts"

// The path before /v1/docs is the one that the API is mounted at.
const baseUrl = location.origin + location.pathname.replace(/\/v1\/docs\/?$/, "")

const token = getElement("token", HTMLInputElement)
const filter = getElement("filter", HTMLInputElement)
const status = getElement("status", HTMLElement)
const groups = getElement("groups", HTMLElement)
const list = getElement("operations", HTMLElement)

const getAuthorization = (): Readonly<Record<string, string>> => {
  const value = token.value.trim()
  return value === "" ? {} : { Authorization: `Bearer ${value}` }
}

const send = ({ method, url, headers, body }: PreparedRequest, needsToken: boolean): Promise<Response> =>
  fetch(url, {
    method,
    headers: { ...headers, ...(needsToken ? getAuthorization() : {}) },
    cache: "no-store",
    ...(body === undefined ? {} : { body })
  })

interface OperationItem {
  readonly entry: Entry
  readonly details: HTMLElement
}

const matches = ({ entry: { method, path, operation } }: OperationItem, words: ReadonlyArray<string>): boolean => {
  const { operationId, summary = "", tags = [] } = operation
  const text = [method, path, operationId, summary, ...tags].join(" ").toLowerCase()
  return words.every((word) => text.includes(word))
}

const applyFilter = (items: ReadonlyArray<OperationItem>): void => {
  const words = filter.value.toLowerCase().split(/\s+/)
  let count = 0
  for (const item of items) {
    const isMatch = matches(item, words)
    item.details.hidden = !isMatch
    if (isMatch) count++
  }
  for (const section of list.querySelectorAll<HTMLElement>("section")) {
    section.hidden = section.querySelector("details.operation:not([hidden])") === null
  }
  status.textContent = `${count} of ${items.length} operations`
}

/** Opens the operation in the fragment of the URL, such as `#consumers.list`. */
const openLinkedOperation = (): void => {
  const details = document.getElementById(location.hash.slice(1))
  if (!(details instanceof HTMLDetailsElement)) return
  details.open = true
  details.scrollIntoView()
}

const render = (description: Description): void => {
  const { info, tags = [] } = description
  getElement("title", HTMLElement).textContent = info.title
  getElement("about", HTMLElement).textContent = info.description ?? ""
  const api = { baseUrl, resolve: makeResolve(description), send }
  const items = listOperations(description).map((entry) => ({ entry, details: renderOperation(entry, api) }))
  for (const [index, { name, description: about = "" }] of tags.entries()) {
    const id = `group-${index}`
    const groupItems = items.filter(({ entry }) => entry.operation.tags?.includes(name) === true)
    const heading = element("h2", { id: `${id}-name` }, name)
    groups.append(element("a", { href: `#${id}` }, name))
    list.append(
      element(
        "section",
        { id, "aria-labelledby": heading.id },
        heading,
        element("p", {}, ...renderText(about)),
        ...groupItems.map(({ details }) => details)
      )
    )
  }
  filter.addEventListener("input", () => applyFilter(items))
  applyFilter(items)
  openLinkedOperation()
  addEventListener("hashchange", openLinkedOperation)
}

const load = async (): Promise<void> => {
  const response = await fetch(`${baseUrl}/v1/openapi.json`, { headers: getAuthorization() })
  if (response.status === 401) {
    status.textContent = "The description of this API is protected. Enter a management token, then press Enter."
    token.addEventListener("change", start, { once: true })
    return
  }
  if (!response.ok) throw new Error(`HTTP status ${response.status}`)
  render(await response.json())
}

for (const name of ["accountName", "bucketName", "bucketId"])
  bindName(name, getElement(`names-${name}`, HTMLInputElement))

const start = (): void => {
  load().catch((error: unknown) => {
    status.textContent = `Cannot load the description from ${baseUrl}/v1/openapi.json: ${error}`
  })
}

start()
