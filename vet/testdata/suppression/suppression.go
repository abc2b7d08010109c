// SPDX-License-Identifier: Apache-2.0

package suppression

var (
	_ = 0 //spangate:ignore othercatalog the reason
	_ = 0 /* want `the reason is missing` */        //spangate:ignore othercatalog
	_ = 0 /* want `the reason is missing` */        //spangate:ignore othercatalog // not a reason
	_ = 0 /* want `there is no rule "unheardof"` */ //spangate:ignore unheardof because
	_ = 0 /* want `there is no rule ""` */          //spangate:ignore
	_ = 0 //spangate:ignored is no directive
)
