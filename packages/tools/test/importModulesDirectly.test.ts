import { expect, it } from "@effect/vitest"
import { importModulesDirectly } from "../src/importModulesDirectly.ts"

it("imports each module of effect by its own path", () => {
  expect(importModulesDirectly('import { Effect, type Layer, Schema } from "effect"')).toBe(
    'import * as Effect from "effect/Effect"; import * as Schema from "effect/Schema"'
  )
  expect(importModulesDirectly('import { Array as Arr } from "effect"')).toBe('import * as Arr from "effect/Array"')
  expect(importModulesDirectly('import { HttpApi } from "effect/http-api"')).toBe(
    'import * as HttpApi from "effect/http-api/HttpApi"'
  )
})

it("keeps the number of lines", () => {
  const source = 'import {\n  Effect,\n  type Layer\n} from "effect"\nconst next = 1'
  expect(importModulesDirectly(source).split("\n")[4]).toBe("const next = 1")
})

it.each(['import type { Effect } from "effect"', 'import { Store } from "@tollgate/store"'])(
  "leaves %s as it is",
  (source) => expect(importModulesDirectly(source)).toBe(source)
)
