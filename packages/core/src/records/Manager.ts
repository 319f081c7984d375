/**
 * The users who manage a consumer. A manager is identified by a subject (`sub`), a pending invite by its e-mail
 * address.
 */

import { Id, isMaxCharacters, ShortText, Timestamp } from "@tollgate/store/internal"
import { Schema } from "effect"

/** The maximum of RFC 5321: 64 characters before the `@`, and 255 after it. */
export const maxEmailLength = 320

export const Email = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(/^[^\s@]+@[^\s@]+$/u, { expected: "an e-mail address" }),
    isMaxCharacters(maxEmailLength)
  )
)

const managerFields = { sub: ShortText, email: Schema.optionalKey(Email) }

/** A user who manages a consumer. `sub` is the id that your identity provider gives the user. */
export const Manager = Schema.Struct({
  id: Id("mgr"),
  createdOn: Timestamp,
  ...managerFields,
  sub: Schema.String
}).annotate({ identifier: "Manager" })
export type Manager = typeof Manager.Type

/** An invitation to manage a consumer, by e-mail address. */
export const ManagerInvite = Schema.Struct({
  id: Id("inv"),
  createdOn: Timestamp,
  email: Email
}).annotate({ identifier: "ManagerInvite" })
export type ManagerInvite = typeof ManagerInvite.Type

const ManagerCreate = Schema.Struct(managerFields)

const maxManagers = 100

/** Either e-mail addresses to invite, or managers whose subject is known. */
export const ManagersCreate = Schema.Union([
  Schema.Array(Email).pipe(Schema.check(Schema.isMaxLength(maxManagers))),
  Schema.Array(ManagerCreate).pipe(Schema.check(Schema.isMaxLength(maxManagers)))
])
export type ManagersCreate = typeof ManagersCreate.Type

/** The index term for listing consumers by a manager's e-mail address. */
export const managerTerm = (email: string): string => `manager:${email.toLowerCase()}`
