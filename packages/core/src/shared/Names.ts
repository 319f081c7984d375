/**
 * Names that the host chooses and that stand in paths.
 */
import { Schema } from "effect"

const pathName = Schema.String.pipe(Schema.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/u)))

export const AccountName = pathName.pipe(Schema.brand("AccountName"))
export type AccountName = typeof AccountName.Type

export const BucketName = pathName.pipe(Schema.brand("BucketName"))
export type BucketName = typeof BucketName.Type
