// SPDX-License-Identifier: Apache-2.0

package suppression

import "example.com/app/mydb"

var (
	//spangate:ignore othercatalog the case of a comment above
	_ = mydb.Gate.On(0)
	_ = mydb.Gate.On(0) //spangate:ignore othercatalog the case of a comment behind

	//spangate:ignore hoisted another rule
	_ = mydb.Gate.On(0) // want `On\(0\) is always false`

	_ = mydb.Gate.On(0) /* want `On\(0\) is always false` `the reason is missing` */ //spangate:ignore othercatalog

	_ = 0 /* want `there is no rule "unheardof"` */ //spangate:ignore unheardof because
	_ = 0 /* want `there is no rule ""` */          //spangate:ignore
)
